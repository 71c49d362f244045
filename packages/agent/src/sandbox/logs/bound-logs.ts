import { join } from 'node:path'
import { truncateOversized } from '../../store/logs/console-file.ts'
import { QEMU_LOG } from '../start/prepare-vm.ts'
import type { Host } from '../model/host.ts'

const SWEEP_MS = 5000
/** Bytes of QEMU's own log. */
const MAX_LOG_BYTES = 1024 * 1024

/** Periodically copies the consoles of guests into their logs, and keeps the console files and QEMU's logs from filling the disk. */
export function boundLogs(host: Host): NodeJS.Timeout {
  return setInterval(() => {
    for (const { id, log, vm } of host.sandboxes.values()) {
      if (vm === null) continue
      const warn = (error: unknown) => host.log.warn({ err: error, sandbox_id: id }, 'log not bounded')
      log.sweepConsole(true).catch(warn)
      truncateOversized(join(host.store.dir.sandbox(id), QEMU_LOG), MAX_LOG_BYTES).catch(warn)
    }
  }, SWEEP_MS).unref()
}
