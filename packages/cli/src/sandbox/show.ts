import type { Sandbox } from '@offshoot/contract/sandbox'
import { age, type Output, type Style } from '../frame/output.ts'

const STYLES: Readonly<Record<Sandbox['status'], Style>> = {
  creating: 'yellow',
  running: 'green',
  paused: 'yellow',
  hibernated: 'blue',
  failed: 'red',
}

/** The status in its colour. */
export function statusOf(out: Output, status: Sandbox['status']): string {
  return out.style(STYLES[status], status)
}

/** How long a sandbox has still to live. */
export function remaining({ expires_at: end, persistent }: Sandbox): string {
  if (persistent) return 'stays'
  return end === null ? 'stays' : `ends in ${age(end)}`
}

export function nameOf({ metadata }: Sandbox): string {
  return metadata['name'] ?? ''
}

/** The first part of the id, which is enough for every command unless two begin alike. */
export function shortId(id: string): string {
  return id.slice(0, 8)
}
