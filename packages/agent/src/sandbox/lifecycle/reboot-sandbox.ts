import type { Host } from '../model/host.ts'
import type { Sandbox } from '../model/sandbox.ts'

/** Milliseconds that a VM must have run for it to be booted again by itself: one that dies at once waits for somebody who wants it. */
const LIVED_MS = 5000

const wokenAt = new WeakMap<Sandbox, number>()

/** Boots a sandbox that lost its VM, unasked. What cannot be booted now stays hibernated, and is woken by who asks for it. */
export function rebootSandbox(host: Host, sandbox: Sandbox): void {
  const now = performance.now()
  if (now - (wokenAt.get(sandbox) ?? -LIVED_MS) < LIVED_MS) return
  host
    .wake(sandbox)
    .catch((error: unknown) => host.log.warn({ err: error, sandbox_id: sandbox.id }, 'sandbox not booted again'))
    .finally(() => wokenAt.set(sandbox, performance.now()))
}
