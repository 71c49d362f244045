import { readdirSync } from 'node:fs'
import { constants, setPriority } from 'node:os'
import type { ProcessIdentity } from '@offshoot/kit/process-identity'
import { isHostRoot } from '../host/is-host-root.ts'

const isRoot = isHostRoot()

/**
 * Gives a new process a low CPU priority until the signal aborts. Threads that the process starts inherit it. Does nothing
 * without root, because only root can raise a priority again.
 */
export function setLowPriorityUntil(over: AbortSignal, identity: ProcessIdentity): void {
  if (over.aborted || !isRoot) return
  ignoreMissing(() => setPriority(identity.pid, constants.priority.PRIORITY_LOW))
  over.addEventListener('abort', () => restorePriority(identity), { once: true })
}

/** Begins with the main thread, so that threads which it starts meanwhile inherit the normal priority. */
export function restorePriority({ pid }: ProcessIdentity): void {
  ignoreMissing(() => {
    setPriority(pid, constants.priority.PRIORITY_NORMAL)
    for (const thread of readdirSync(`/proc/${pid}/task`)) {
      ignoreMissing(() => setPriority(Number(thread), constants.priority.PRIORITY_NORMAL))
    }
  })
}

/** The code that waits for the process notices its end. */
function ignoreMissing(change: () => void): void {
  try {
    change()
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code !== 'ERR_SYSTEM_ERROR' && code !== 'ENOENT' && code !== 'ESRCH') throw error
  }
}
