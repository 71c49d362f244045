import { setTimeout as wait } from 'node:timers/promises'
import type { Deadline } from '@offshoot/kit/deadline'
import { isAlive, type ProcessIdentity } from '@offshoot/kit/process-identity'

/** The agent gets no notice of the end of a process that is not its child, so it polls. */
const POLL_MS = 2

/** @throws DeadlineExceeded */
export async function awaitEnd(process: ProcessIdentity, deadline: Deadline): Promise<void> {
  while (await isAlive(process)) {
    deadline.throwIfOver()
    await wait(POLL_MS)
  }
}
