import { constants, open } from 'node:fs/promises'
import { join } from 'node:path'
import { QEMU_LOG } from '../start/boot-vm.ts'
import type { Host } from '../model/host.ts'

const SWEEP_MS = 5000
/** Bytes after which QEMU's messages are cut to nothing; they are written in append mode. */
const MAX_LOG_BYTES = 1024 * 1024

/** Takes what guests write to their consoles into their logs, and keeps it and QEMU's messages from filling the disk. */
export function boundLogs(host: Host): NodeJS.Timeout {
  return setInterval(() => {
    for (const { id, log, vm } of host.sandboxes.values()) {
      if (vm === null) continue
      const complain = (error: unknown) => host.log.warn({ err: error, sandbox_id: id }, 'log not bounded')
      log.sweepConsole(true).catch(complain)
      bound(join(host.dir.sandbox(id), QEMU_LOG)).catch(complain)
    }
  }, SWEEP_MS).unref()
}

async function bound(path: string): Promise<void> {
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
