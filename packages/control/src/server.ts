import { isWebSocketUpgrade, routeUpgrades } from '@offshoot/kit/http-upgrades'
import { traceRequests } from '@offshoot/kit/otlp/telemetry'
import Fastify, { type FastifyInstance, LogController } from 'fastify'
import { type Control, KINDS } from './control.ts'
import { getHealthz } from './fleet/get-healthz.ts'
import { getStatus } from './fleet/get-status.ts'
import { registerAdmission } from './kinds/orgs/admission.ts'
import { mcpRoute } from './mcp/mcp-route.ts'
import { answerBadRequest } from './platform/http/bad-request.ts'
import { BODY_LIMIT_BYTES, registerBodyParser } from './platform/http/body.ts'
import { registerCallerQueue } from './platform/http/caller-queue.ts'
import { consolePage, registerConsole } from './platform/http/console.ts'
import { registerCors } from './platform/http/cors.ts'
import { answerError, registerErrors } from './platform/http/error-handling.ts'
import { registerDocumentation } from './platform/http/documentation.ts'
import { registerExpectContinue } from './platform/http/expect-continue.ts'
import { getVersion } from './platform/http/get-version.ts'
import { watchMethods } from './platform/http/method-not-allowed.ts'
import { registerMetrics } from './platform/http/metrics.ts'
import { registerOpenApi } from './platform/http/openapi.ts'
import { registerAudit } from './platform/http/request-audit.ts'
import { registerRequestBodies } from './platform/http/request-body.ts'
import { REQUEST_ID, registerRequestId, requestId } from './platform/http/request-id.ts'
import { registerRequestLog, shownPath } from './platform/http/request-log.ts'
import { registerIdempotency } from './platform/idempotency/idempotency.ts'

/**
 * Milliseconds to receive a whole request: 5 GiB at 0.5 MiB/s. The limit can be this long because control admits a
 * caller before it reads the body, and the agent ends an upload that stalls.
 */
const RECEIVE_TIMEOUT_MS = 3 * 60 * 60_000
/** Milliseconds to receive the head of a request. */
const HEAD_TIMEOUT_MS = 60_000
/** Bytes of a request's head. A move names two paths, each of up to 4095 bytes, and every byte may be escaped. */
const MAX_HEAD_BYTES = 32 * 1024
/**
 * Milliseconds that an idle connection stays open. Longer than the usual keep-alive of load balancers, so that the
 * balancer closes first.
 */
const KEEP_ALIVE_MS = 75_000

/** Options that the plain server and the one with TLS share. */
export const HTTP_OPTIONS = {
  shouldUpgradeCallback: isWebSocketUpgrade,
  headersTimeout: HEAD_TIMEOUT_MS,
  maxHeaderSize: MAX_HEAD_BYTES,
  requireHostHeader: false,
}

/** The public API: the hooks that every request passes, in order, then the routes. */
export async function createServer(control: Control): Promise<FastifyInstance> {
  const app = Fastify({
    loggerInstance: control.log,
    genReqId: requestId,
    trustProxy: control.config.trusted_proxies.length > 0 && control.config.trusted_proxies,
    logController: new LogController({ requestIdLogLabel: 'req_id', disableRequestLogging: true }),
    bodyLimit: BODY_LIMIT_BYTES,
    requestTimeout: RECEIVE_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    return503OnClosing: false,
    routerOptions: { maxParamLength: 1_024 },
    clientErrorHandler: answerBadRequest,
    http: HTTP_OPTIONS,
    frameworkErrors: (error, request, reply) => {
      reply.header(REQUEST_ID, request.id)
      answerError(error, request, reply)
    },
  }) as unknown as FastifyInstance
  traceRequests(app, shownPath)
  const refuseOtherMethods = watchMethods(app)
  const { console_dir: consoleDir, docs_dir: docsDir } = control.config
  registerErrors(app, consoleDir === null ? null : consolePage(consoleDir, control.config))
  registerExpectContinue(app)
  registerRequestBodies(app, control.config.body_silence_ms)
  registerBodyParser(app)
  registerRequestId(app)
  registerCors(app, control.config.cors_origins)
  registerCallerQueue(app)
  registerAdmission(app, control)
  registerIdempotency(app, control)
  registerAudit(app, control)
  registerRequestLog(app)
  registerOpenApi(
    app,
    control.config.public_url,
    KINDS.flatMap(({ describedRoutes }) => describedRoutes ?? []),
  )
  registerMetrics(app, control.metrics)
  getHealthz(app, control)
  getVersion(app, control)
  getStatus(app, control, Object.assign({}, ...KINDS.map(({ parts }) => parts?.(control))))
  for (const { routes } of KINDS) await routes(app, control)
  mcpRoute(app, control.config)
  if (consoleDir !== null) await registerConsole(app, consoleDir, control.config)
  if (docsDir !== null) await registerDocumentation(app, docsDir)
  refuseOtherMethods()
  await app.ready()
  routeUpgrades(app.server, (request, response) => app.routing(request, response))
  return app
}
