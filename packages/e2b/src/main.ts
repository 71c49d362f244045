import { readFileSync } from 'node:fs'
import { e2bConfig } from '@offshoot/contract/process-config'
import { ignoringErrors, STANDARD_OUTPUT } from '@offshoot/kit/log-destination'
import { startTelemetry } from '@offshoot/kit/otlp/telemetry'
import { pino } from 'pino'
import { createGateway } from './gateway.ts'

/** Milliseconds for running requests after SIGTERM. */
const FINISH_MS = 8_000

const [configPath] = process.argv.slice(2)
if (configPath === undefined) throw new Error('usage: main.ts CONFIG')
const config = e2bConfig.parse(JSON.parse(readFileSync(configPath, 'utf8')))
const telemetry = await startTelemetry('offshoot-e2b')
const output = ignoringErrors(pino.destination(STANDARD_OUTPUT))
const log = pino(
  { level: config.log_level, ...(telemetry && { mixin: telemetry.logFields }) },
  telemetry?.withExport(output) ?? output,
)
telemetry?.reportTo(log)

const gateway = await createGateway(config, log)
const { server } = gateway
server.listen(config.listen)
server.once('listening', () => log.info({ address: server.address() }, 'listening'))
server.once('error', (error) => {
  log.fatal({ err: error }, 'the E2B gateway cannot listen')
  process.exit(1)
})

let isEnding = false
async function end(signal: string): Promise<void> {
  if (isEnding) return
  isEnding = true
  log.info({ signal }, 'ending')
  setTimeout(() => server.closeAllConnections(), FINISH_MS).unref()
  await gateway.close()
  log.info('ended')
  await telemetry?.stop()
  process.exit(0)
}
process.on('SIGTERM', (signal) => void end(signal))
process.on('SIGINT', (signal) => void end(signal))
