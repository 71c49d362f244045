import { parseSandboxId, type SandboxId } from './ids.ts'
import { parsePort } from './port.ts'

/** Where the edge is reached from outside. */
export interface PreviewAddress {
  readonly scheme: 'http' | 'https'
  /** The edge's port as visitors see it. */
  readonly port: number
  /** What follows the one label `<port>-<sandbox id>`, e.g. `localhost` or `preview.example.com`. */
  readonly suffix: string
}

const DEFAULT_PORTS = { http: 80, https: 443 } as const

/** `http://3000-6f0c….localhost:8081`, without a slash at the end. */
export function previewUrl(address: PreviewAddress, sandboxId: string, guestPort: number): string {
  return `${address.scheme}://${guestPort}-${sandboxId}.${address.suffix}${visiblePort(address)}`
}

/** `:` and the edge's port, where an address has to name it. */
export function visiblePort({ scheme, port }: Pick<PreviewAddress, 'scheme' | 'port'>): string {
  return port === DEFAULT_PORTS[scheme] ? '' : `:${port}`
}

export interface PreviewHost {
  readonly sandboxId: SandboxId
  /** The TCP port inside the sandbox. */
  readonly port: number
}

/** `:` and a port of ours or of whoever stands before us; empty counts as none (RFC 9110, 4.2.3). */
const OWN_PORT = /:\d{0,5}$/

/**
 * The sandbox and port that a `Host` header or a `:authority` names; `null` for anything else. Upper case and one dot at
 * the end are the same host (RFC 4343; RFC 1034, 3.1).
 */
export function parsePreviewHost(host: string, suffix: string): PreviewHost | null {
  const label = labelBefore(host, suffix)
  if (label === null) return null
  const dash = label.indexOf('-')
  const port = parsePort(label.slice(0, dash))
  const sandboxId = parseSandboxId(label.slice(dash + 1))
  return port === null || sandboxId === null ? null : { sandboxId, port }
}

/** Without port and final dot, in lower case. */
export function nameOfHost(host: string): string {
  return host.replace(OWN_PORT, '').toLowerCase().replace(/\.$/, '')
}

/** What stands before the suffix, in lower case; `null` for another host. */
export function labelBefore(host: string, suffix: string): string | null {
  const name = nameOfHost(host)
  const tail = `.${suffix}`
  return name.endsWith(tail) ? name.slice(0, -tail.length) : null
}
