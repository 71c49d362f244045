import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { Deadline } from '@offshoot/kit/deadline'

/** A lock that the kernel releases when this process dies, even by SIGKILL. */
export interface ExclusiveLock {
  release(): void
}

/**
 * Locks a file with flock(1), and creates it if missing. The file is never removed. The kernel releases the lock with
 * its holder, so stale locks do not exist. The holder is a `cat`, which ends when our end of its input closes.
 * @returns `null` if another process still holds the lock after `waitSeconds`
 */
export async function takeLock(path: string, waitSeconds: number): Promise<ExclusiveLock | null> {
  const holder = spawn('flock', ['--wait', String(waitSeconds), path, 'sh', '-c', 'echo held; exec cat >/dev/null'], {
    stdio: ['pipe', 'pipe', 'inherit'],
    detached: true, // a Ctrl-C in the terminal must not release the lock before we are done
  })
  const deadline = Deadline.after((waitSeconds + 10) * 1000, `lock ${path}`)
  const held = once(holder.stdout, 'data').then(() => true)
  const refused = once(holder, 'exit').then(() => false)
  if (!(await deadline.race(Promise.race([held, refused])))) return null
  holder.unref()
  return { release: () => void holder.stdin.end() }
}
