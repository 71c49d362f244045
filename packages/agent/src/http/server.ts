import { PORT_STREAM_PROTOCOL } from '@offshoot/contract/agent-api'
import { isUpgradeTo, routeUpgrades } from '@offshoot/kit/http-upgrades'
import Fastify, { LogController, type FastifyBaseLogger, type FastifyInstance } from 'fastify'
import type { Agent } from '../agent.ts'
import { answerErrors } from './answer-errors.ts'
import { countActivity } from './count-activity.ts'
import { postSandbox } from './create-sandbox.ts'
import { type CallerSecrets, refuseUnreadable, requireCredential } from './credential.ts'
import { deleteRoute } from './delete-sandbox.ts'
import { getAgent } from './get-agent.ts'
import { getDisk } from './get-disk.ts'
import { getAgentEvents } from './get-agent-events.ts'
import { getEvents } from './get-events.ts'
import { getLogs } from './get-logs.ts'
import { getListeners } from './get-listeners.ts'
import { getLsp } from './get-lsp.ts'
import { getPortStream } from './get-port-stream.ts'
import { getSandbox } from './get-sandbox.ts'
import { execs } from './execs.ts'
import { followExec } from './follow-exec.ts'
import { getExecPty } from './get-exec-pty.ts'
import { getExecWs } from './get-exec-ws.ts'
import { fileRoutes } from './fs/routes.ts'
import { healthz } from './healthz.ts'
import { lifecycle } from './lifecycle.ts'
import { listSandboxes } from './list-sandboxes.ts'
import { metrics } from './metrics.ts'
import { postExec } from './post-exec.ts'
import { postExecStream } from './post-exec-stream.ts'
import { sandboxMetrics } from './sandbox-metrics.ts'
import { snapshots } from './snapshots.ts'
import { volumes } from './volumes.ts'
import { builds } from './builds.ts'
import { archives } from './archives.ts'
import { quarantine } from './quarantine.ts'
import { putSpentCredit } from './put-spent-credit.ts'
import { requestId } from './request-id.ts'
import { logRequests } from './request-log.ts'

/** Bytes; above what `stdin` and `cmd` of one exec can take in JSON. */
const MAX_BODY_BYTES = 64 * 1024 * 1024
/** Bytes: a move names two paths, each of up to 4095 bytes, each byte escaped. More than control takes. */
const MAX_HEADER_BYTES = 48 * 1024
/** Milliseconds an idle connection of control is kept. Longer than control keeps its own. */
const KEEP_ALIVE_MS = 75_000

/** The agent's HTTP API (ARCHITECTURE.md, "Between control and agent"). */
export function buildServer(agent: Agent, secrets: CallerSecrets): FastifyInstance {
  const loggerInstance: FastifyBaseLogger = agent.host.log
  const server = Fastify({
    loggerInstance,
    logController: new LogController({ disableRequestLogging: true }),
    genReqId: requestId,
    requestIdHeader: false,
    bodyLimit: MAX_BODY_BYTES,
    keepAliveTimeout: KEEP_ALIVE_MS,
    forceCloseConnections: 'idle',
    http: { shouldUpgradeCallback: isUpgradeTo('websocket', PORT_STREAM_PROTOCOL), maxHeaderSize: MAX_HEADER_BYTES },
  })
  server.addHook('onRequest', async (request, reply) => {
    void reply.header('x-request-id', request.id)
  })
  requireCredential(server, secrets)
  refuseUnreadable(server, agent.host.ledger.unreadable)
  countActivity(server, agent)
  answerErrors(server)
  logRequests(server)
  for (const route of [
    healthz,
    metrics,
    getAgent,
    getAgentEvents,
    putSpentCredit,
    listSandboxes,
    postSandbox,
    getSandbox,
    deleteRoute,
    lifecycle,
    snapshots,
    volumes,
    builds,
    archives,
    quarantine,
    getDisk,
    sandboxMetrics,
    postExec,
    getEvents,
    getLogs,
    postExecStream,
    getExecWs,
    getExecPty,
    getLsp,
    getListeners,
    getPortStream,
    execs,
    followExec,
    fileRoutes,
  ]) {
    route(server, agent)
  }
  routeUpgrades(server.server, (request, response) => server.routing(request, response))
  return server
}
