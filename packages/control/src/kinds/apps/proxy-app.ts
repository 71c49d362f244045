import type { IncomingHttpHeaders } from 'node:http'
import { ApiError } from '@offshoot/contract/errors'
import { Deadline } from '@offshoot/kit/deadline'
import { upgradeOf } from '@offshoot/kit/http-upgrades'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { AgentRefused, refusalOf } from '../../fleet/agent-failure.ts'
import { openGuestPort } from '../../fleet/open-guest-port.ts'
import type { AppsContext } from './model/apps-context.ts'
import { deploymentOfApp } from './model/deployment-statements.ts'
import { forwardedUrl } from '../../fleet/proxy/forwarded-url.ts'
import { keepBodiesStreams } from '../../fleet/proxy/proxy.ts'
import { liveAgent } from '../../fleet/live-agent.ts'
import { sandboxById } from '../sandboxes/model/sandbox-statements.ts'
import type { AppRow } from './model/app-row.ts'
import { askApp, upgradeToApp } from './ask-app.ts'
import { findApp } from './model/find-app.ts'

/** Milliseconds for a hibernated sandbox to wake and accept a connection. */
const WAKE_MS = 30_000
const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const
/** An agent's statuses for a sandbox that must not run: no credit is left, or it is paused. */
const SUSPENDED: ReadonlySet<number> = new Set([402, 409])
const SUSPENDED_PAGE = '<!doctype html><title>Suspended</title><h1>This app is suspended</h1>\n'
/**
 * Headers of the caller's connection to control, and headers with the API's own credentials: cookies here belong to the
 * API's origin.
 */
const OURS = new Set([
  'authorization',
  'connection',
  'cookie',
  'expect',
  'host',
  'keep-alive',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'x-offshoot-org',
])

/** `ANY /v1/apps/{id}/proxy/{rest...}`: the serving version, as at its own address, for callers with a credential. */
export async function proxyApp(app: FastifyInstance, control: AppsContext): Promise<void> {
  await app.register(async (scope) => {
    keepBodiesStreams(scope)
    for (const url of ['/v1/apps/:id/proxy', '/v1/apps/:id/proxy/*']) {
      for (const method of METHODS) addRoute(scope, control, method, url)
    }
  })
}

function addRoute(scope: FastifyInstance, control: AppsContext, method: (typeof METHODS)[number], url: string): void {
  scope.route({
    method,
    url,
    config: {
      credential: 'key-or-jwt',
      takesQueryToken: method === 'GET',
      docs: {
        summary: 'Ask the version of the app that serves; also for WebSockets',
        tag: 'Apps',
        ...(method !== 'GET' && method !== 'DELETE' && { bodyType: 'application/octet-stream' }),
        status: 200,
        mediaType: 'application/octet-stream',
        errors: ['notFound', 'noCodeDeployed', 'sandboxNotRunning', 'agentUnreachable', 'nothingListening'],
      },
    },
    handler: (request, reply) => forwardToApp(control, request, reply),
  })
}

async function forwardToApp(control: AppsContext, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const app = await findApp(control, request)
  const path = pathInside(request.url, app.id)
  const port = await open(control, app, request.id).catch((error: unknown) => {
    if (error instanceof AgentRefused && SUSPENDED.has(error.status)) return null
    if (error instanceof AgentRefused && error.status === 502) throw new ApiError('nothingListening')
    throw refusalOf(error)
  })
  if (port === null) {
    reply.headers({ 'retry-after': '3600', 'x-service-app': 'suspended' })
    return reply.code(503).type('text/html; charset=utf-8').send(SUSPENDED_PAGE)
  }
  const headers = headersInside(request.headers, `${app.id}.${control.config.preview.suffix}`)
  const asked = { request, reply, path, headers, socket: port }
  return upgradeOf(request.raw) === undefined ? askApp(asked) : upgradeToApp(asked, control.openStreams)
}

async function open(control: AppsContext, app: AppRow, requestId: string) {
  const { pool } = control.database
  const [deployment] =
    app.active_deployment_id === null ? [] : await deploymentOfApp(pool, app.active_deployment_id, app.id)
  if (deployment === undefined || deployment.sandbox_id === null) throw new ApiError('noCodeDeployed')
  const [sandbox] = await sandboxById(pool, deployment.sandbox_id)
  if (sandbox === undefined) throw new ApiError('sandboxNotRunning')
  const address = {
    client: liveAgent(control, sandbox),
    sandboxId: sandbox.id,
    workspaceId: app.workspace_id,
    requestId,
  }
  return openGuestPort(address, deployment.port, Deadline.after(WAKE_MS, `port ${deployment.port} of ${sandbox.id}`))
}

/** The path and query as they came, without the route's prefix and the API's credential. */
function pathInside(url: string, id: string): string {
  const rest = forwardedUrl(url).slice(`/v1/apps/${id}/proxy`.length)
  return rest.startsWith('/') ? rest : `/${rest}`
}

function headersInside(headers: IncomingHttpHeaders, host: string): Record<string, string | string[]> {
  const kept = Object.entries(headers).flatMap(([name, value]) =>
    value === undefined || OURS.has(name) ? [] : [[name, value] as const],
  )
  const { referer } = headers
  return {
    ...Object.fromEntries(kept),
    // A page that was opened with `access_token` sends that address as the referrer of its next request, so remove the
    // token.
    ...(referer !== undefined && { referer: forwardedUrl(referer) }),
    host,
    'x-forwarded-host': host,
  }
}
