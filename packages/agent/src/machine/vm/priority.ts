import { readdirSync } from 'node:fs'
import { constants, setPriority } from 'node:os'
import type { ProcessIdentity } from '@offshoot/kit/process-identity'

const isRoot = process.getuid?.() === 0

/**
 * Lets a process that has just started give way to all that others wait for, until the signal aborts. Threads that it starts are as it
 * is. Only root can take it back: nobody else's gives way.
 */
export function giveWayUntil(over: AbortSignal, identity: ProcessIdentity): void {
  if (over.aborted || !isRoot) return
  ignoreEnd(() => setPriority(identity.pid, constants.priority.PRIORITY_LOW))
  over.addEventListener('abort', () => stopGivingWay(identity), { once: true })
}

/** The first thread comes first: those that it starts meanwhile are then as it is. */
export function stopGivingWay({ pid }: ProcessIdentity): void {
  ignoreEnd(() => {
    setPriority(pid, constants.priority.PRIORITY_NORMAL)
    for (const thread of readdirSync(`/proc/${pid}/task`)) {
      ignoreEnd(() => setPriority(Number(thread), constants.priority.PRIORITY_NORMAL))
    }
  })
}

/** Who waits for the process hears of its end in another way. */
function ignoreEnd(change: () => void): void {
  try {
    change()
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code !== 'ERR_SYSTEM_ERROR' && code !== 'ENOENT' && code !== 'ESRCH') throw error
  }
}
