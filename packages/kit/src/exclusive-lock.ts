import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { Deadline } from '@offshoot/kit/deadline'

/** A lock that is held until it is released or this process dies, however it dies. */
export interface ExclusiveLock {
  release(): void
}

/**
 * Takes the lock that stands for a file (made when missing, never removed), with flock(1): the kernel lets go of it when its holder is gone,
 * so there are no stale ones to guess about. The holder is a `cat` that ends when our end of its input closes.
 * @returns `null` when another process still holds it after `waitSeconds`
 */
export async function takeLock(path: string, waitSeconds: number): Promise<ExclusiveLock | null> {
  const holder = spawn('flock', ['--wait', String(waitSeconds), path, 'sh', '-c', 'echo held; exec cat >/dev/null'], {
    stdio: ['pipe', 'pipe', 'inherit'],
    detached: true, // a Ctrl-C in the terminal must not let go of it before we are done
  })
  const deadline = Deadline.after((waitSeconds + 10) * 1000, `lock ${path}`)
  const held = once(holder.stdout, 'data').then(() => true)
  const refused = once(holder, 'exit').then(() => false)
  if (!(await deadline.race(Promise.race([held, refused])))) return null
  holder.unref()
  return { release: () => void holder.stdin.end() }
}
