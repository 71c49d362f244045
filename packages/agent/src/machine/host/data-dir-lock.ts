import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { readdir, readFile, readlink, stat } from 'node:fs/promises'
import { createServer, type Server } from 'node:net'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import type { Deadline } from '@offshoot/kit/deadline'

/** Another process uses this data directory. */
export class DataDirInUse extends Error {
  override readonly name = 'DataDirInUse'
}

const LOCK_FILE = 'agent.lock'
const RETRY_MS = 50
/** The descriptor that `flock` locks. */
const LOCKED_FD = 3
/** Exit code of `flock` if another process holds the lock (flock(1)). */
const CONFLICT = 1
/** Flag in /proc/net/unix: the socket listens. */
const LISTENS = 0x0001_0000

/**
 * Keeps other agents away from the data directory for as long as this process lives.
 *
 * The lock is flock(2) on a file that only the owner of the data directory can open. Node cannot lock, so flock(1) locks a
 * descriptor that it inherits: the lock belongs to the open file, which the agent shares with it, and stays when flock
 * exits. The kernel releases it when the agent ends, even by a kill. Other children do not inherit the file, because Node
 * opens it with O_CLOEXEC.
 *
 * Agents of earlier versions hold an abstract Unix socket instead, whose name any local user can take. The agent also takes
 * that name if it can, so that such an agent cannot start beside it. It waits for the name only while a process of its own
 * user listens there.
 */
export class DataDirLock {
  /** A number, because Node closes a file handle that is garbage collected, and the lock would end. */
  readonly #fd: number
  readonly #server: Server | null

  private constructor(fd: number, server: Server | null) {
    this.#fd = fd
    this.#server = server
  }

  /** @throws DataDirInUse if another process still holds it at the deadline */
  static async acquire(root: string, deadline: Deadline): Promise<DataDirLock> {
    const { dev, ino } = await stat(root)
    const fd = openSync(join(root, LOCK_FILE), 'a', 0o600)
    try {
      if (!(await lockFile(fd, deadline))) throw new DataDirInUse(`another agent uses ${root}`)
      const server = await takeName(`offshoot-agent-${dev}-${ino}`, deadline)
      if (server === 'held by an agent') throw new DataDirInUse(`another agent uses ${root}`)
      return new DataDirLock(fd, server)
    } catch (error) {
      closeSync(fd)
      throw error
    }
  }

  async release(): Promise<void> {
    if (this.#server !== null) {
      this.#server.close()
      await once(this.#server, 'close')
    }
    closeSync(this.#fd)
  }
}

async function lockFile(fd: number, deadline: Deadline): Promise<boolean> {
  const seconds = deadline.remainingMs / 1000
  const patience = seconds > 0 ? ['--timeout', seconds.toFixed(3)] : ['--nonblock']
  const flock = spawn('flock', ['--exclusive', ...patience, String(LOCKED_FD)], {
    stdio: ['ignore', 'ignore', 'inherit', fd],
  })
  const [code, signal] = (await once(flock, 'exit')) as [number | null, string | null]
  if (code !== 0 && code !== CONFLICT) throw new Error(`flock ended with ${code ?? signal}`)
  return code === 0
}

/** Takes the socket name of earlier versions; `null` if a process that is no agent has it. */
async function takeName(name: string, deadline: Deadline): Promise<Server | null | 'held by an agent'> {
  for (;;) {
    const server = await listen(`\0${name}`)
    if (server !== null) return server
    if (!(await isHeldByUs(`@${name}`))) return null
    if (deadline.remainingMs === 0) return 'held by an agent'
    await wait(Math.min(RETRY_MS, deadline.remainingMs))
  }
}

async function listen(name: string): Promise<Server | null> {
  const server = createServer((socket) => socket.destroy())
  server.unref()
  try {
    server.listen(name)
    await once(server, 'listening')
    return server
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') return null
    throw error
  }
}

/** Whether a process of the agent's user listens at an abstract name (unix(7): it begins with `@` in /proc/net/unix). */
async function isHeldByUs(name: string): Promise<boolean> {
  for (const line of (await readFile('/proc/net/unix', 'utf8')).split('\n')) {
    const [, , , flags = '', , , inode = '', path] = line.trim().split(/\s+/)
    if (path !== name || (Number.parseInt(flags, 16) & LISTENS) === 0) continue
    for (const pid of (await readdir('/proc')).filter((each) => /^\d+$/.test(each))) {
      if ((await hasSocket(pid, inode)) && (await isOurs(pid))) return true
    }
  }
  return false
}

async function hasSocket(pid: string, inode: string): Promise<boolean> {
  const folder = `/proc/${pid}/fd`
  const fds = await readdir(folder).catch(() => [])
  const links = await Promise.all(fds.map(async (fd) => readlink(join(folder, fd)).catch(() => '')))
  return links.includes(`socket:[${inode}]`)
}

/**
 * Whether all user ids of a process are the agent's. The owner of its /proc folder would be wrong, because that is root for
 * each process without core dumps. The effective user alone would be wrong, too, because that is root for a setuid program
 * that another user has started.
 */
async function isOurs(pid: string): Promise<boolean> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '')
  const uids = /^Uid:\s+(\d+)\s+(\d+)\s+(\d+)\s+(\d+)$/m.exec(status)?.slice(1) ?? []
  return uids.length > 0 && uids.every((uid) => Number(uid) === process.geteuid?.())
}
