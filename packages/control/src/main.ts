import { readFileSync } from 'node:fs'
import { controlConfig } from '@offshoot/contract/process-config'
import { STANDARD_OUTPUT, unfailing } from '@offshoot/kit/unfailing-log'
import { pino } from 'pino'
import { startControl } from './control.ts'
import { proveNextBackup } from './kinds/databases/prove-backup.ts'
import { Periodic } from './platform/jobs/periodic.ts'
import { createServer } from './server.ts'

/** Milliseconds for requests that run when the process is told to end. */
const FINISH_MS = 8_000
/** Milliseconds between two looks for a backup that is to be tried. */
const PROOF_EVERY_MS = 5_000
/** Milliseconds between two looks for connections that have become idle. */
const SWEEP_MS = 50

const [configPath] = process.argv.slice(2)
if (configPath === undefined) throw new Error('usage: main.ts CONFIG')
const config = controlConfig.parse(JSON.parse(readFileSync(configPath, 'utf8')))
const log = pino(
  { level: config.log_level, redact: ['req.headers.authorization', 'headers.authorization'] },
  unfailing(pino.destination(STANDARD_OUTPUT)),
)

const control = await startControl(config, log)
const server = await createServer(control)
const proofs = new Periodic(
  { what: 'proofs of backups', everyMs: PROOF_EVERY_MS, run: (signal) => proveNextBackup(control, signal) },
  log,
)
await server.listen(config.listen)
log.info({ address: server.server.address() }, 'listening')

let isEnding = false
async function end(signal: string): Promise<void> {
  if (isEnding) return
  isEnding = true
  log.info({ signal }, 'ending')
  proofs.stop()
  setTimeout(() => {
    log.warn('requests were still running at the end')
    server.server.closeAllConnections()
  }, FINISH_MS).unref()
  // A connection whose last request was still running when the closing began would stay open for the next one.
  const sweep = setInterval(() => server.server.closeIdleConnections(), SWEEP_MS)
  await server.close()
  clearInterval(sweep)
  await proofs.finished()
  await control.stop()
  log.info('ended')
  // A socket that the HTTP client has already given up would keep the process for another two seconds.
  process.exit(0)
}
process.on('SIGTERM', (signal) => void end(signal))
process.on('SIGINT', (signal) => void end(signal))
