import { isWebSocketUpgrade, routeUpgrades } from '@offshoot/kit/http-upgrades'
import Fastify, { type FastifyInstance, LogController } from 'fastify'
import { getEvents } from './kinds/sandboxes/events/get-events.ts'
import { proxyApp } from './kinds/apps/proxy-app.ts'
import { appRoutes } from './kinds/apps/app-routes.ts'
import { deploymentRoutes } from './kinds/apps/deployments/deployment-routes.ts'
import { gitProviderRoutes } from './kinds/apps/git-provider/git-provider-routes.ts'
import { billingRoutes } from './kinds/billing/billing-routes.ts'
import { postStripeWebhook } from './kinds/billing/post-stripe-webhook.ts'
import { getStatement } from './kinds/billing/get-statement.ts'
import type { Control } from './control.ts'
import { getAudit } from './kinds/orgs/audit/get-audit.ts'
import { postFork } from './kinds/sandboxes/forks/post-fork.ts'
import { postForkTree } from './kinds/sandboxes/forks/post-fork-tree.ts'
import { postPromote } from './kinds/sandboxes/forks/post-promote.ts'
import { accountOperations } from './kinds/orgs/identity/account-operations.ts'
import { accountsRoutes } from './kinds/orgs/identity/accounts-routes.ts'
import { registerIdempotency } from './platform/idempotency/idempotency.ts'
import { deleteToken } from './kinds/orgs/identity/delete-token.ts'
import { getMe } from './kinds/orgs/identity/get-me.ts'
import { getTokens } from './kinds/orgs/identity/get-tokens.ts'
import { postCurrentOrg } from './kinds/orgs/identity/post-current-org.ts'
import { postTokens } from './kinds/orgs/identity/post-tokens.ts'
import { lifecycleRoutes } from './kinds/sandboxes/lifecycle/lifecycle-routes.ts'
import { transitionRoutes } from './kinds/sandboxes/lifecycle/transition-routes.ts'
import { getLanguages } from './kinds/sandboxes/lsp/get-languages.ts'
import { getUsage } from './kinds/billing/metering/get-usage.ts'
import { deleteSandbox } from './kinds/sandboxes/delete-sandbox.ts'
import { getSandbox } from './kinds/sandboxes/get-sandbox.ts'
import { getSandboxes } from './kinds/sandboxes/get-sandboxes.ts'
import { postExec } from './kinds/sandboxes/post-exec.ts'
import { getOperatedOrgs } from './kinds/orgs/operators/get-operated-orgs.ts'
import { operatedOrgRoutes } from './kinds/billing/operated-org-routes.ts'
import { orgRoutes } from './kinds/orgs/org-routes.ts'
import { proxiedRoutes } from './kinds/sandboxes/proxied-routes.ts'
import { postSandboxes } from './kinds/sandboxes/post-sandboxes.ts'
import { deletePorts } from './kinds/sandboxes/ports/delete-ports.ts'
import { getPorts } from './kinds/sandboxes/ports/get-ports.ts'
import { postPorts } from './kinds/sandboxes/ports/post-ports.ts'
import { deleteSnapshot } from './kinds/sandboxes/snapshots/delete-snapshot.ts'
import { getSnapshot } from './kinds/sandboxes/snapshots/get-snapshot.ts'
import { getSnapshots } from './kinds/sandboxes/snapshots/get-snapshots.ts'
import { postSnapshots } from './kinds/sandboxes/snapshots/post-snapshots.ts'
import { buildRoutes } from './kinds/templates/build-routes.ts'
import { deleteTemplate } from './kinds/templates/delete-template.ts'
import { postBuild } from './kinds/templates/post-build.ts'
import { postSandboxTemplate } from './kinds/templates/post-sandbox-template.ts'
import { getTemplate } from './kinds/templates/get-template.ts'
import { getTemplates } from './kinds/templates/get-templates.ts'
import { databaseRoutes } from './kinds/databases/database-routes.ts'
import { getAdminMetrics } from './kinds/orgs/operators/get-admin-metrics.ts'
import { getHostDisk } from './kinds/orgs/operators/get-host-disk.ts'
import { hostQuarantineRoutes } from './kinds/orgs/operators/host-quarantine.ts'
import { volumeRoutes } from './kinds/volumes/volume-routes.ts'
import { registerAdmission } from './kinds/orgs/admission.ts'
import { BODY_LIMIT_BYTES, registerBodyParser } from './platform/http/body.ts'
import { answerBadRequest } from './platform/http/bad-request.ts'
import { registerCors } from './platform/http/cors.ts'
import { answerError, registerErrors } from './platform/http/error-handling.ts'
import { registerExpectContinue } from './platform/http/expect-continue.ts'
import { getHealthz } from './fleet/get-healthz.ts'
import { getVersion } from './platform/http/get-version.ts'
import { watchMethods } from './platform/http/method-not-allowed.ts'
import { registerMetrics } from './platform/http/metrics.ts'
import { registerOpenApi } from './platform/http/openapi.ts'
import { registerProxy } from './fleet/proxy/proxy.ts'
import { registerRequestBodies } from './platform/http/request-body.ts'
import { REQUEST_ID, registerRequestId, requestId } from './platform/http/request-id.ts'
import { registerRequestLog } from './platform/http/request-log.ts'

/**
 * Milliseconds to receive a whole request: 5 GiB at 0.5 MiB/s. Only who has a credential sends a body at all, and an upload
 * that stands still is ended by its agent.
 */
const RECEIVE_TIMEOUT_MS = 3 * 60 * 60_000
/** Milliseconds to receive the head of a request. */
const HEAD_TIMEOUT_MS = 60_000
/** Bytes of a request's head: a move names two paths, each of up to 4095 bytes, each byte escaped. */
const MAX_HEAD_BYTES = 32 * 1024
/** Milliseconds an idle connection stays open; above what load balancers usually keep theirs. */
const KEEP_ALIVE_MS = 75_000

/** The public API: what each request passes, in order, then the routes. */
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
    http: {
      shouldUpgradeCallback: isWebSocketUpgrade,
      headersTimeout: HEAD_TIMEOUT_MS,
      maxHeaderSize: MAX_HEAD_BYTES,
      requireHostHeader: false,
    },
    frameworkErrors: (error, request, reply) => {
      reply.header(REQUEST_ID, request.id)
      answerError(error, request, reply)
    },
  }) as unknown as FastifyInstance
  const refuseOtherMethods = watchMethods(app)
  registerErrors(app)
  registerExpectContinue(app)
  registerRequestBodies(app, control.config.body_silence_ms)
  registerBodyParser(app)
  registerRequestId(app)
  registerCors(app, control.config.cors_origins)
  registerAdmission(app, control)
  registerIdempotency(app, control)
  registerRequestLog(app)
  registerOpenApi(app, control.config.public_url, accountOperations)
  registerMetrics(app, control.metrics)
  getHealthz(app, control)
  getVersion(app, control)
  accountsRoutes(app, control)
  getMe(app)
  postCurrentOrg(app, control)
  postTokens(app, control)
  getTokens(app, control)
  deleteToken(app, control)
  getAudit(app, control)
  orgRoutes(app, control)
  getOperatedOrgs(app, control)
  operatedOrgRoutes(app, control)
  postSandboxes(app, control)
  getSandboxes(app, control)
  getSandbox(app)
  deleteSandbox(app, control)
  postExec(app, control)
  transitionRoutes(app, control)
  lifecycleRoutes(app, control)
  postFork(app, control)
  postForkTree(app, control)
  postPromote(app, control)
  postSnapshots(app, control)
  getSnapshots(app, control)
  getSnapshot(app, control)
  deleteSnapshot(app, control)
  getPorts(app, control)
  postPorts(app, control)
  deletePorts(app, control)
  await registerProxy(app, control, proxiedRoutes)
  volumeRoutes(app, control)
  appRoutes(app, control)
  deploymentRoutes(app, control)
  gitProviderRoutes(app, control)
  await proxyApp(app, control)
  databaseRoutes(app, control)
  getHostDisk(app, control)
  hostQuarantineRoutes(app, control)
  getAdminMetrics(app, control)
  getLanguages(app)
  getEvents(app, control)
  getUsage(app, control)
  getStatement(app, control)
  billingRoutes(app, control)
  postStripeWebhook(app, control)
  getTemplates(app, control)
  getTemplate(app, control)
  deleteTemplate(app, control)
  buildRoutes(app, control)
  await postBuild(app, control)
  postSandboxTemplate(app, control)
  refuseOtherMethods()
  await app.ready()
  routeUpgrades(app.server, (request, response) => app.routing(request, response))
  return app
}
