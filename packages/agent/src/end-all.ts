import { mkdir } from 'node:fs/promises'
import { Deadline } from '@offshoot/kit/deadline'
import { ignoringErrors } from '@offshoot/kit/log-destination'
import { pino } from 'pino'
import { openHost } from './open-host.ts'
import { DataDirLock } from './machine/host/data-dir-lock.ts'
import { loadConfig } from './load-config.ts'
import { restoreForwarding } from './machine/network/uplinks.ts'
import { recover } from './sandbox/recovery/recover.ts'

/** Ends every VM of a data directory whose agent does not run; what was running is `failed` then. Safe to repeat. */
const LOCK_MS = 15_000

try {
  const config = await loadConfig(process.argv.slice(2))
  await mkdir(config.data_dir, { recursive: true, mode: 0o711 })
  await DataDirLock.acquire(config.data_dir, Deadline.after(LOCK_MS, 'lock of the data directory'))
  const { host, claims, manifests } = await openHost(
    config,
    pino({ level: 'warn' }, ignoringErrors(pino.destination(2))),
    'end',
  )
  await recover(host, 'end', manifests)
  await claims?.release(() => restoreForwarding(config.run_dir))
  await host.store.events.close()
  process.exit(0)
} catch (error) {
  console.error(error instanceof Error ? error.message : String(error))
  process.exit(1)
}
