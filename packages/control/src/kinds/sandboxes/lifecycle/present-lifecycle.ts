import type { Lifecycle } from '@offshoot/contract/lifecycle'
import type { SandboxRow } from '../../../fleet/sandbox-row.ts'

/** @param idleSeconds as reported by the agent */
export function presentLifecycle(row: SandboxRow, idleSeconds: number): Lifecycle {
  return {
    ttl_seconds: row.ttl_seconds,
    persistent: row.persistent,
    idle_seconds: idleSeconds,
    idle_timeout_seconds: row.idle_timeout_seconds,
    expires_at: row.expires_at?.toISOString() ?? null,
    on_timeout: row.on_timeout,
  }
}
