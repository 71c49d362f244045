import { isWebSocketUpgrade, routeUpgrades } from '@offshoot/kit/http-upgrades'
import Fastify, { type FastifyInstance, LogController } from 'fastify'
import { getEvents } from '../analytics/get-events.ts'
import { proxyApp } from '../apps/proxy-app.ts'
import { appRoutes } from '../apps/app-routes.ts'
import { deploymentRoutes } from '../deployments/deployment-routes.ts'
import { gitProviderRoutes } from '../gitprovider/git-provider-routes.ts'
import { billingRoutes } from '../billing/billing-routes.ts'
import { postStripeWebhook } from '../billing/post-stripe-webhook.ts'
import { getStatement } from '../billing/get-statement.ts'
import type { Control } from '../control.ts'
import { getAudit } from '../audit/get-audit.ts'
import { postFork } from '../forks/post-fork.ts'
import { postForkTree } from '../forks/post-fork-tree.ts'
import { postPromote } from '../forks/post-promote.ts'
import { accountOperations } from '../identity/account-operations.ts'
import { accountsRoutes } from '../identity/accounts-routes.ts'
import { registerIdempotency } from '../idempotency/idempotency.ts'
import { deleteToken } from '../identity/delete-token.ts'
import { getMe } from '../identity/get-me.ts'
import { getTokens } from '../identity/get-tokens.ts'
import { postCurrentOrg } from '../identity/post-current-org.ts'
import { postTokens } from '../identity/post-tokens.ts'
import { lifecycleRoutes } from '../lifecycle/lifecycle-routes.ts'
import { transitionRoutes } from '../lifecycle/transition-routes.ts'
import { getLanguages } from '../lsp/get-languages.ts'
import { getUsage } from '../metering/get-usage.ts'
import { deleteSandbox } from '../sandboxes/delete-sandbox.ts'
import { getSandbox } from '../sandboxes/get-sandbox.ts'
import { getSandboxes } from '../sandboxes/get-sandboxes.ts'
import { postExec } from '../sandboxes/post-exec.ts'
import { getOperatedOrgs } from '../operators/get-operated-orgs.ts'
import { operatedOrgRoutes } from '../operators/operated-org-routes.ts'
import { orgRoutes } from '../orgs/org-routes.ts'
import { proxiedRoutes } from '../sandboxes/proxied-routes.ts'
import { postSandboxes } from '../sandboxes/post-sandboxes.ts'
import { deletePorts } from '../ports/delete-ports.ts'
import { getPorts } from '../ports/get-ports.ts'
import { postPorts } from '../ports/post-ports.ts'
import { deleteSnapshot } from '../snapshots/delete-snapshot.ts'
import { getSnapshot } from '../snapshots/get-snapshot.ts'
import { getSnapshots } from '../snapshots/get-snapshots.ts'
import { postSnapshots } from '../snapshots/post-snapshots.ts'
import { buildRoutes } from '../templates/build-routes.ts'
import { deleteTemplate } from '../templates/delete-template.ts'
import { postBuild } from '../templates/post-build.ts'
import { postSandboxTemplate } from '../templates/post-sandbox-template.ts'
import { getTemplate } from '../templates/get-template.ts'
import { getTemplates } from '../templates/get-templates.ts'
import { databaseRoutes } from '../databases/database-routes.ts'
import { getAdminMetrics } from '../operators/get-admin-metrics.ts'
import { getHostDisk } from '../operators/get-host-disk.ts'
import { hostReconcileRoutes } from '../operators/host-reconcile.ts'
import { hostQuarantineRoutes } from '../operators/host-quarantine.ts'
import { volumeRoutes } from '../volumes/volume-routes.ts'
import { registerAdmission } from './admission.ts'
import { BODY_LIMIT_BYTES, registerBodyParser } from './body.ts'
import { answerBadRequest } from './bad-request.ts'
import { registerCors } from './cors.ts'
import { answerError, registerErrors } from './error-handling.ts'
import { registerExpectContinue } from './expect-continue.ts'
import { getHealthz } from './get-healthz.ts'
import { getVersion } from './get-version.ts'
import { watchMethods } from './method-not-allowed.ts'
import { registerMetrics } from './metrics.ts'
import { registerOpenApi } from './openapi.ts'
import { registerProxy } from './proxy/proxy.ts'
import { registerRequestBodies } from './request-body.ts'
import { REQUEST_ID, registerRequestId, requestId } from './request-id.ts'
import { registerRequestLog } from './request-log.ts'

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
  hostReconcileRoutes(app, control)
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
