import { once } from 'node:events'
import { stat } from 'node:fs/promises'
import { createServer, type Server } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import type { Deadline } from '@offshoot/kit/deadline'

/** Another process has this data directory. */
export class DataDirInUse extends Error {
  override readonly name = 'DataDirInUse'
}

const RETRY_MS = 50

/**
 * Keeps every other agent off the same data directory for as long as this process lives.
 *
 * An abstract Unix socket named after the folder's device and inode: the kernel gives the name to one process and
 * takes it back at that process's end, however it ends. Nothing is left on disk that could be stale.
 */
export class DataDirLock {
  readonly #server: Server

  private constructor(server: Server) {
    this.#server = server
  }

  /** @throws DataDirInUse when it is still held at the deadline */
  static async acquire(root: string, deadline: Deadline): Promise<DataDirLock> {
    const { dev, ino } = await stat(root)
    for (;;) {
      const server = await listen(`\0offshoot-agent-${dev}-${ino}`)
      if (server) return new DataDirLock(server)
      if (deadline.remainingMs === 0) throw new DataDirInUse(`another agent uses ${root}`)
      await wait(Math.min(RETRY_MS, deadline.remainingMs))
    }
  }

  async release(): Promise<void> {
    this.#server.close()
    await once(this.#server, 'close')
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
