import type { Host } from '../model/host.ts'
import type { Sandbox } from '../model/sandbox.ts'

/** Milliseconds that a VM must have run before the agent boots it again by itself. Prevents a loop of immediate crashes. */
const LIVED_MS = 5000

const wokenAt = new WeakMap<Sandbox, number>()

/** Boots a durable sandbox again after its VM has ended. If that fails, the sandbox stays hibernated until a request wakes it. */
export function rebootSandbox(host: Host, sandbox: Sandbox): void {
  // Otherwise it boots when the host has a lease again.
  if (!host.store.lease.isHeld) return
  const now = performance.now()
  if (now - (wokenAt.get(sandbox) ?? -LIVED_MS) < LIVED_MS) return
  host
    .wake(sandbox)
    .catch((error: unknown) => host.log.warn({ err: error, sandbox_id: sandbox.id }, 'sandbox not booted again'))
    .finally(() => wokenAt.set(sandbox, performance.now()))
}
