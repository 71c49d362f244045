import { constants, open } from 'node:fs/promises'
import { join } from 'node:path'
import { CONSOLE } from '../vm/machine.ts'
import { QEMU_LOG } from './create.ts'
import type { Host } from './host.ts'

const SWEEP_MS = 5000
/** Bytes after which a VM's console or QEMU's messages are cut to nothing; both are written in append mode. */
const MAX_LOG_BYTES = 1024 * 1024

/** Keeps what guests write to their consoles from filling the disk. */
export function boundLogs(host: Host): NodeJS.Timeout {
  return setInterval(() => {
    for (const id of host.sandboxes.keys()) {
      for (const path of [join(host.dir.vm(id), CONSOLE), join(host.dir.sandbox(id), QEMU_LOG)]) {
        bound(path).catch((error: unknown) => host.log.warn({ err: error, path }, 'log not bounded'))
      }
    }
  }, SWEEP_MS).unref()
}

async function bound(path: string): Promise<void> {
  // QEMU may write the console's folder: a link there must not lead us anywhere.
  const flags = constants.O_WRONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK
  const file = await open(path, flags).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null
    throw error
  })
  try {
    const size = await file?.stat().then((stat) => (stat.isFile() ? stat.size : 0))
    if (size !== undefined && size > MAX_LOG_BYTES) await file?.truncate(0)
  } finally {
    await file?.close()
  }
}
