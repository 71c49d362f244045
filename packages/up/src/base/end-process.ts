import { setTimeout as delay } from 'node:timers/promises'
import { Deadline } from '@offshoot/kit/deadline'
import { isAlive, signalProcess, type ProcessIdentity } from '@offshoot/kit/process-identity'

const POLL_MS = 20
const AFTER_KILL_MS = 5000

/**
 * Sends a signal, waits, then kills; returns when the process has ended. It need not be a child process.
 * @param hurry aborts the wait
 */
export async function endProcess(
  identity: ProcessIdentity,
  signal: NodeJS.Signals,
  withinMs: number,
  hurry?: AbortSignal,
): Promise<void> {
  signalProcess(identity, signal)
  if (await isGone(identity, Deadline.after(withinMs, `end of ${identity.pid}`), hurry)) return
  signalProcess(identity, 'SIGKILL')
  const killed = Deadline.after(AFTER_KILL_MS, `end of killed process ${identity.pid}`)
  if (!(await isGone(identity, killed))) killed.throwIfOver()
}

async function isGone(identity: ProcessIdentity, deadline: Deadline, hurry?: AbortSignal): Promise<boolean> {
  while (await isAlive(identity)) {
    if (deadline.remainingMs === 0 || hurry?.aborted) return false
    await delay(POLL_MS)
  }
  return true
}
