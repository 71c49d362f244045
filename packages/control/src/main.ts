import { readFileSync } from 'node:fs'
import { controlConfig } from '@offshoot/contract/process-config'
import { startTelemetry } from '@offshoot/kit/otlp/telemetry'
import { STANDARD_OUTPUT, ignoringErrors } from '@offshoot/kit/log-destination'
import { pino } from 'pino'
import { startControl } from './control.ts'
import { backupVerification } from './kinds/databases/verify-backup.ts'
import { startPublicPorts } from './public-ports.ts'
import { createServer } from './server.ts'

/** Milliseconds that running requests have to finish after SIGTERM. */
const FINISH_MS = 8_000
/** Milliseconds between two checks for connections that have become idle. */
const SWEEP_MS = 50

const [configPath] = process.argv.slice(2)
if (configPath === undefined) throw new Error('usage: main.ts CONFIG')
const config = controlConfig.parse(JSON.parse(readFileSync(configPath, 'utf8')))
const telemetry = await startTelemetry('offshoot-control')
const output = ignoringErrors(pino.destination(STANDARD_OUTPUT))
const log = pino(
  {
    level: config.log_level,
    redact: ['req.headers.authorization', 'headers.authorization'],
    ...(telemetry && { mixin: telemetry.logFields }),
  },
  telemetry?.withExport(output) ?? output,
)
telemetry?.reportTo(log)

const control = await startControl(config, log, backupVerification)
const server = await createServer(control)
await server.listen(config.listen)
log.info({ address: server.server.address() }, 'listening')
const ports = config.tls === undefined ? null : await startPublicPorts(control, server, config.tls)

let isEnding = false
async function end(signal: string): Promise<void> {
  if (isEnding) return
  isEnding = true
  log.info({ signal }, 'ending')
  setTimeout(() => {
    log.warn('requests were still running at the end')
    server.server.closeAllConnections()
    ports?.withTls.closeAllConnections()
  }, FINISH_MS).unref()
  // Node closes connections that are idle when the shutdown begins. It keeps a connection whose request was still
  // running then, so close those once they are idle.
  const sweep = setInterval(() => {
    server.server.closeIdleConnections()
    ports?.withTls.closeIdleConnections()
  }, SWEEP_MS)
  await Promise.all([server.close(), ports?.stop()])
  clearInterval(sweep)
  await control.stop()
  log.info('ended')
  await telemetry?.stop()
  // The HTTP client may hold a socket that it has already abandoned, which would keep the process alive for two more
  // seconds.
  process.exit(0)
}
process.on('SIGTERM', (signal) => void end(signal))
process.on('SIGINT', (signal) => void end(signal))
