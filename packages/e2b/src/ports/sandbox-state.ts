import type { SandboxId } from '@offshoot/contract/ids'
import { sandbox as sandboxSchema, wokenSandbox } from '@offshoot/contract/sandbox'
import { isAutoResumed } from '../api/present-sandbox.ts'
import type { GatewayContext } from '../base/context.ts'
import { ControlRefused } from '../control/control-failure.ts'

/** Statuses that control answers for a sandbox that is gone: the credential ends with it. */
const GONE: ReadonlySet<number> = new Set([401, 404])

/**
 * Whether a sandbox runs, after waking it if its creator wanted that. Without `auto_resume` a paused sandbox counts as
 * not running: E2B's clients must resume it themselves.
 *
 * @throws {ControlRefused} if it cannot be woken
 */
export async function isRunning({ control, access }: GatewayContext, id: SandboxId): Promise<boolean> {
  const request = { path: `/v1/sandboxes/${id}`, token: access.tokenOf(id) }
  try {
    const sandbox = await control.read(sandboxSchema, { method: 'GET', ...request })
    if (sandbox.status === 'running' || sandbox.status === 'creating') return true
    if (sandbox.status !== 'hibernated' || !isAutoResumed(sandbox)) return false
    await control.read(wokenSandbox, { ...request, method: 'POST', path: `${request.path}/wake`, json: {} })
    return true
  } catch (error) {
    if (error instanceof ControlRefused && GONE.has(error.status)) return false
    throw error
  }
}
