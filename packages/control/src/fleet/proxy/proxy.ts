import type { IncomingHttpHeaders } from 'node:http'
import { PassThrough, type Readable } from 'node:stream'
import { ApiError } from '@offshoot/contract/errors'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { FleetContext } from '../fleet-context.ts'
import { isBodyEmpty } from '../../platform/http/request-body.ts'
import { forward } from './forward.ts'
import { forwardUpgrade } from './forward-upgrade.ts'
import type { ProxyContext } from './proxy-context.ts'
import { type ProxiedRoute, takesQueryToken } from './proxied-route.ts'

/**
 * Registers the operations that control forwards to a sandbox's agent. Control does the admission (401, 404) and
 * refuses what the row rules out. Everything else is the agent's answer, streamed unchanged.
 */
export async function registerProxy(
  app: FastifyInstance,
  control: FleetContext,
  routes: readonly ProxiedRoute[],
): Promise<void> {
  const proxy = { control, openStreams: control.openStreams }
  app.addHook('preClose', async () => proxy.openStreams.endAll())
  // A Fastify scope of its own, because in it bodies stay streams.
  await app.register(async (scope) => {
    keepBodiesStreams(scope)
    for (const route of routes) addRoute(scope, proxy, route)
  })
}

/** Makes handlers in this scope receive bodies as streams. */
export function keepBodiesStreams(scope: FastifyInstance): void {
  scope.removeAllContentTypeParsers()
  scope.addContentTypeParser('*', (request, payload, done) => done(null, streamedBody(request, payload)))
}

/**
 * Never returns the request itself. If the answer comes before the end of the body, the HTTP client destroys the body,
 * and destroying the request would close the caller's connection.
 */
export function streamedBody({ raw, headers }: FastifyRequest, payload: Readable): Readable | undefined {
  if (isBodyEmpty(headers)) return undefined
  return payload === raw ? payload.pipe(new PassThrough()) : payload
}

function addRoute(scope: FastifyInstance, proxy: ProxyContext, route: ProxiedRoute): void {
  const isStream = route.kind !== 'plain'
  scope.route({
    method: route.method,
    url: route.url,
    exposeHeadRoute: !isStream,
    config: {
      credential: 'key-or-jwt',
      loads: 'location',
      takesSandboxCredential: true,
      // Files and commands reveal a guest's environment variables, so every method counts as a write.
      ...(route.needs === 'guest' && { managed: 'write' as const }),
      ...(route.kind === 'websocket' && { scope: 'sandboxes:write' as const }),
      takesQueryToken: takesQueryToken(route),
      docs: route.docs,
    },
    onRequest: async ({ headers }) => refuseTooLarge(route, proxy.control.config.max_upload_bytes, headers),
    handler: (request, reply) =>
      route.kind === 'websocket' ? forwardUpgrade(proxy, route, request, reply) : forward(proxy, route, request, reply),
  })
}

/**
 * Refuses by the announced length before anything is sent. The agent also counts bytes, but it learns of an upload only
 * with its first byte.
 */
function refuseTooLarge({ docs }: ProxiedRoute, maxBytes: number, headers: IncomingHttpHeaders): void {
  if (docs.bodyType === undefined || Number(headers['content-length'] ?? 0) <= maxBytes) return
  throw new ApiError('bodyTooLarge', { max_bytes: maxBytes })
}
