import { ignoringErrors } from '@offshoot/kit/log-destination'
import { pino } from 'pino'
import { openHost } from './open-host.ts'
import { takeDataDir } from './take-data-dir.ts'
import { restoreForwarding } from './machine/network/uplinks.ts'
import { recover } from './sandbox/recovery/recover.ts'

/** Ends every VM of a data directory whose agent does not run; what was running is `failed` then. Safe to repeat. */
try {
  const config = await takeDataDir()
  const { host, claims, manifests } = await openHost(
    config,
    pino({ level: 'warn' }, ignoringErrors(pino.destination(2))),
    'end',
  )
  await recover(host, 'end', manifests)
  await host.store.lease.removeFile()
  await claims?.release(() => restoreForwarding(config.run_dir))
  await host.store.events.close()
  process.exit(0)
} catch (error) {
  console.error(error instanceof Error ? error.message : String(error))
  process.exit(1)
}
