import { setTimeout as wait } from 'node:timers/promises'
import type { Deadline } from '@offshoot/kit/deadline'
import { isAlive, type ProcessIdentity } from '@offshoot/kit/process-identity'

/** A process that is not our child tells nobody of its end. */
const POLL_MS = 2

/** @throws DeadlineExceeded */
export async function awaitEnd(process: ProcessIdentity, deadline: Deadline): Promise<void> {
  while (await isAlive(process)) {
    deadline.throwIfOver()
    await wait(POLL_MS)
  }
}
