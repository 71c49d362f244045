import { readFileSync } from 'node:fs'
import { edgeConfig } from '@offshoot/contract/process-config'
import { startTelemetry } from '@offshoot/kit/otlp/telemetry'
import { STANDARD_OUTPUT, ignoringErrors } from '@offshoot/kit/log-destination'
import { pino } from 'pino'
import { startEdge } from './edge.ts'

/** Milliseconds for running requests after SIGTERM. */
const FINISH_MS = 8_000
/** Milliseconds between two checks for idle connections. */
const SWEEP_MS = 50

const [configPath] = process.argv.slice(2)
if (configPath === undefined) throw new Error('usage: main.ts CONFIG')
const config = edgeConfig.parse(JSON.parse(readFileSync(configPath, 'utf8')))
const telemetry = await startTelemetry('offshoot-edge')
const output = ignoringErrors(pino.destination(STANDARD_OUTPUT))
const log = pino(
  { level: config.log_level, ...(telemetry && { mixin: telemetry.logFields }) },
  telemetry?.withExport(output) ?? output,
)
telemetry?.reportTo(log)

const edge = await startEdge(config, log)
const { server } = edge.front
server.listen(config.listen)
server.once('listening', () => log.info({ address: server.address() }, 'listening'))
server.once('error', cannotListen)
const { databases, ssh } = edge
if (ssh !== null && config.ssh !== undefined) {
  ssh.server.listen(config.ssh.listen)
  ssh.server.once('listening', () => log.info({ address: ssh.server.address() }, 'listening for SSH'))
  ssh.server.once('error', cannotListen)
}
if (databases !== null && config.databases !== undefined) {
  databases.server.listen(config.databases.listen)
  databases.server.once('listening', () => log.info({ address: databases.server.address() }, 'listening for databases'))
  databases.server.once('error', cannotListen)
}

function cannotListen(error: Error): never {
  log.fatal({ err: error }, 'edge cannot listen')
  process.exit(1)
}

let isEnding = false
async function end(signal: string): Promise<void> {
  if (isEnding) return
  isEnding = true
  log.info({ signal }, 'ending')
  setTimeout(() => edge.front.closeNow(), FINISH_MS).unref()
  const sweep = setInterval(() => server.closeIdleConnections(), SWEEP_MS)
  const closed = new Promise((resolve) => server.once('close', resolve))
  edge.front.close()
  edge.endUpgraded()
  await closed
  clearInterval(sweep)
  await edge.stop()
  log.info('ended')
  await telemetry?.stop()
  process.exit(0)
}
process.on('SIGTERM', (signal) => void end(signal))
process.on('SIGINT', (signal) => void end(signal))
