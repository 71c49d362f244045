import { CONTROL_NAME, EDGE_NAME } from '@offshoot/contract/fleet-identity'
import { PORT_STREAM_PROTOCOL } from '@offshoot/contract/port-stream'
import { SSH_STREAM_PROTOCOL } from '@offshoot/contract/ssh-stream'
import { isUpgradeTo, routeUpgrades } from '@offshoot/kit/http-upgrades'
import { admitPeers, TLS_OPTIONS, type TlsIdentity } from '@offshoot/kit/mutual-tls'
import { traceRequests } from '@offshoot/kit/otlp/telemetry'
import Fastify, { LogController, type FastifyBaseLogger, type FastifyInstance } from 'fastify'
import type { Agent } from '../sandbox/agent.ts'
import { answerErrors } from './request/answer-errors.ts'
import { countActivity } from './request/count-activity.ts'
import { createSandboxRoute } from './create-sandbox.ts'
import {
  type CallerSecrets,
  refuseOtherCluster,
  refuseUnreadable,
  requireCredential,
} from './request/require-credential.ts'
import { getAgent, getDisk, putCluster, putSpentCredit } from './agent-routes.ts'
import { getAgentEvents } from './get-agent-events.ts'
import { getEvents } from './get-events.ts'
import { getLogs } from './get-logs.ts'
import { getListeners, getPortStream } from './port-routes.ts'
import { deleteSandboxRoute, getSandbox, listSandboxes } from './sandbox-routes.ts'
import { codeRoutes } from './code-routes.ts'
import { execRoutes, postExec, postExecStream } from './exec-routes.ts'
import { followExec } from './follow-exec.ts'
import { getExecPty, getExecWs, getLsp } from './socket-routes.ts'
import { fileRoutes } from './files/file-routes.ts'
import { getHealth } from './get-health.ts'
import { lifecycleRoutes } from './lifecycle-routes.ts'
import { getMetrics } from './metrics/get-metrics.ts'
import { sandboxMetrics } from './metrics/register-sandbox-metrics.ts'
import { snapshotRoutes } from './snapshot-routes.ts'
import { sshRoutes } from './ssh-routes.ts'
import { leaseRoutes } from './lease-routes.ts'
import { moveRoutes } from './move-routes.ts'
import { snapshotMoveRoutes } from './snapshot-move-routes.ts'
import { templateMoveRoutes } from './template-move-routes.ts'
import { volumeRoutes } from './volume-routes.ts'
import { buildRoutes } from './build-routes.ts'
import { archiveRoutes } from './archive-routes.ts'
import { quarantineRoutes } from './quarantine-routes.ts'
import { loggedPath, logRequests, readRequestId } from './request/log-requests.ts'

/** Bytes. Larger than the JSON of one exec with the longest allowed `stdin` and `cmd`. */
const MAX_BODY_BYTES = 64 * 1024 * 1024
/** Bytes. A move names two paths of up to 4095 bytes with every byte percent-encoded. More than control accepts. */
const MAX_HEADER_BYTES = 48 * 1024
/** Milliseconds. Longer than control's own keep-alive, so that the agent never closes a connection that control is about to reuse. */
const KEEP_ALIVE_MS = 75_000

/**
 * The agent's HTTP API (ARCHITECTURE.md, "Between control and agent").
 * @param identity for TLS; `null`: plain HTTP, on loopback
 */
export function buildServer(
  agent: Agent,
  secrets: CallerSecrets,
  identity: TlsIdentity | null = null,
): FastifyInstance {
  const loggerInstance: FastifyBaseLogger = agent.host.log
  const handling = {
    shouldUpgradeCallback: isUpgradeTo('websocket', PORT_STREAM_PROTOCOL, SSH_STREAM_PROTOCOL),
    maxHeaderSize: MAX_HEADER_BYTES,
  }
  const tls = identity && {
    ...identity,
    ...TLS_OPTIONS,
    requestCert: true,
    rejectUnauthorized: true,
  }
  const server = Fastify({
    loggerInstance,
    logController: new LogController({ disableRequestLogging: true }),
    genReqId: readRequestId,
    requestIdHeader: false,
    bodyLimit: MAX_BODY_BYTES,
    keepAliveTimeout: KEEP_ALIVE_MS,
    forceCloseConnections: 'idle',
    ...(tls === null ? { http: handling } : { https: { ...handling, ...tls } }),
  }) as unknown as FastifyInstance
  if (tls !== null) admitPeers(server.server, [CONTROL_NAME, EDGE_NAME])
  traceRequests(server, loggedPath)
  server.addHook('onRequest', async (request, reply) => {
    void reply.header('x-request-id', request.id)
  })
  requireCredential(server, secrets)
  refuseOtherCluster(server, agent.host.store.cluster)
  refuseUnreadable(server, agent.host.store.ledger.unreadable)
  countActivity(server, agent)
  answerErrors(server)
  logRequests(server)
  for (const route of [
    getHealth,
    getMetrics,
    getAgent,
    getAgentEvents,
    putSpentCredit,
    putCluster,
    leaseRoutes,
    listSandboxes,
    createSandboxRoute,
    getSandbox,
    deleteSandboxRoute,
    lifecycleRoutes,
    snapshotRoutes,
    moveRoutes,
    snapshotMoveRoutes,
    templateMoveRoutes,
    volumeRoutes,
    buildRoutes,
    archiveRoutes,
    quarantineRoutes,
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
    sshRoutes,
    execRoutes,
    followExec,
    codeRoutes,
    fileRoutes,
  ]) {
    route(server, agent)
  }
  routeUpgrades(server.server, (request, response) => server.routing(request, response))
  return server
}
