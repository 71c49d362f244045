import { ApiError } from '@offshoot/contract/errors'
import { Deadline } from '@offshoot/kit/deadline'
import { refusalOf } from '../../fleet/agent-failure.ts'
import type { Fleet } from '../../fleet/fleet.ts'
import { CommandInterrupted, GuestShell, type Ran } from '../sandboxes/guest-shell.ts'
import { agentOfDatabase } from './model/agent-of-database.ts'
import type { Reached } from './model/tunnel.ts'

/**
 * Runs one of control's shell commands as root in the VM of a database.
 * @throws ApiError 502 if the agent or the VM ends meanwhile, and as the agent answers
 */
export async function runInDatabase(
  fleet: Fleet,
  to: Reached,
  cmd: string,
  { timeoutMs, requestId }: { readonly timeoutMs: number; readonly requestId: string },
): Promise<Ran> {
  const agent = agentOfDatabase(fleet, to)
  const shell = new GuestShell(agent, to.id, to.workspace_id, requestId)
  return shell.run({ cmd }, Deadline.after(timeoutMs, `command in ${to.id}`)).catch((error: unknown) => {
    throw error instanceof CommandInterrupted
      ? new ApiError('agentUnreachable', {}, { cause: error })
      : refusalOf(error)
  })
}
