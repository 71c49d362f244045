import { once } from 'node:events'
import { mkdir } from 'node:fs/promises'
import type { Server as TlsServer } from 'node:tls'
import type { AgentConfig } from '@offshoot/contract/process-config'
import { Deadline } from '@offshoot/kit/deadline'
import { startTelemetry } from '@offshoot/kit/otlp/telemetry'
import { STANDARD_OUTPUT, ignoringErrors } from '@offshoot/kit/log-destination'
import type { FastifyInstance } from 'fastify'
import { pino } from 'pino'
import { startAgent } from './agent.ts'
import { ArchiveWatch } from './sandbox/archives/archive-watch.ts'
import { DataDirLock } from './machine/host/data-dir-lock.ts'
import { forbidCoreDumps } from './machine/host/forbid-core-dumps.ts'
import { cpuLimitsOf, describeNetwork } from './http/get-health.ts'
import { buildServer } from './http/build-server.ts'
import { ListenerWatch } from './sandbox/ports/listener-watch.ts'
import { ObjectWatch } from './sandbox/objects/object-watch.ts'
import { HostIdentity } from './host-identity.ts'
import { loadConfig } from './load-config.ts'
import { boundLogs } from './sandbox/logs/bound-logs.ts'
import { HibernationCompressor } from './sandbox/lifecycle/compress-hibernated.ts'
import { LeaseWatch } from './sandbox/lifecycle/lease-watch.ts'
import { IdleWatch } from './sandbox/lifecycle/idle-watch.ts'
import { watchTables } from './machine/network/table-watch.ts'
import { Reconciliation } from './sandbox/recovery/reconcile.ts'

/** Milliseconds to wait for a predecessor that is still ending. */
const LOCK_MS = 5000
/** Milliseconds from SIGTERM to the end, whatever still runs. */
const STOP_MS = 8000
/** Milliseconds between two looks for connections that have become idle. */
const SWEEP_MS = 50

const config = await loadConfig(process.argv.slice(2))
const telemetry = await startTelemetry('offshoot-agent')
const output = ignoringErrors(pino.destination(STANDARD_OUTPUT))
const log = pino(
  { level: config.log_level, ...(telemetry && { mixin: telemetry.logFields }) },
  telemetry?.withExport(output) ?? output,
)
telemetry?.reportTo(log)

try {
  await serve()
} catch (error) {
  log.fatal({ err: error }, 'agent cannot start')
  process.exitCode = 1
}

async function listen(server: FastifyInstance, { listen: place, listen_fd: fd }: AgentConfig): Promise<void> {
  if (fd === undefined) return void (await server.listen(place))
  await server.ready()
  server.server.listen({ fd })
  await once(server.server, 'listening')
}

async function serve(): Promise<void> {
  await mkdir(config.data_dir, { recursive: true, mode: 0o711 })
  await DataDirLock.acquire(config.data_dir, Deadline.after(LOCK_MS, 'lock of the data directory'))
  await forbidCoreDumps()
  const stopping = new AbortController()
  const agent = await startAgent(config, log, stopping.signal)
  const identity = config.tls === undefined ? null : await HostIdentity.open(config.tls)
  const secrets = {
    control: Buffer.from(config.secret, 'base64'),
    edge: config.edge_secret === undefined ? null : Buffer.from(config.edge_secret, 'base64'),
    audience: identity === null ? null : agent.id,
  }
  const server = buildServer(agent, secrets, identity?.current)
  identity?.keep(server.server as unknown as TlsServer, log, stopping.signal)
  await listen(server, config)
  const bounding = boundLogs(agent.host)
  const { host } = agent
  host.usage.start()
  const watches = [
    host.usage,
    new IdleWatch(host),
    new LeaseWatch(host),
    new Reconciliation(host),
    new ListenerWatch(host),
    new ArchiveWatch(host),
    new ObjectWatch(host),
    new HibernationCompressor(host, config.disk.compress_after_s * 1000),
  ]
  if (agent.host.platform.network !== null) void watchTables(agent.host.platform.network, log, stopping.signal)
  log.info(
    {
      agent_id: agent.id,
      accelerator: agent.accelerator,
      accelerator_reason: agent.acceleratorReason,
      isolation: agent.isolation,
      cpu_limits: cpuLimitsOf(agent.host.platform),
      network: describeNetwork(agent.host.platform),
    },
    'agent ready',
  )

  const stop = async (signal: string) => {
    if (stopping.signal.aborted) return
    log.info({ signal }, 'agent ends; its VMs run on')
    clearInterval(bounding)
    for (const watch of watches) watch.stop()
    stopping.abort()
    // What does not finish in time is undone or finished by the next start.
    setTimeout(() => process.exit(0), STOP_MS).unref()
    // A connection whose last answer was still being written when the closing began would stay open for the next one.
    const sweep = setInterval(() => server.server.closeIdleConnections(), SWEEP_MS)
    await Promise.all([server.close(), agent.host.pool.close(), agent.names?.close()])
    clearInterval(sweep)
    const sandboxes = [...agent.host.sandboxes.values()]
    await Promise.all(sandboxes.map(async ({ vm }) => vm?.detach()))
    await Promise.all(sandboxes.map(({ log }) => log.close()))
    await agent.host.store.events.close()
    await telemetry?.stop()
    process.exit(0)
  }
  process.once('SIGTERM', () => void stop('SIGTERM'))
  process.once('SIGINT', () => void stop('SIGINT'))
}
