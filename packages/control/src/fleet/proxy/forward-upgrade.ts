import { ApiError } from '@offshoot/contract/errors'
import { upgradeOf, type UpgradeAnswer } from '@offshoot/kit/http-upgrades'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { locationOf } from '../admitted-sandbox.ts'
import { hangUpSignal } from '../../platform/http/hang-up.ts'
import { agentOf, refuseForwarded, unexpectedAnswer } from './agent-of.ts'
import { answeredHeaders, forwardedUpgradeHeaders, switchingHeaders } from './forwarded-headers.ts'
import { forwardedUrl } from './forwarded-url.ts'
import { joinSockets } from './join-sockets.ts'
import { PASSED_ON_STATUSES } from './passed-on-statuses.ts'
import type { ProxyContext } from './proxy-context.ts'
import type { ProxiedRoute } from './proxied-route.ts'
import { MAX_REFUSAL_BYTES, readWhole } from '../../platform/http/bounded-body.ts'

type Refused = Extract<UpgradeAnswer, { kind: 'refused' }>

/**
 * Forwards the upgrade. Once the agent has accepted it, the two sockets are joined. Until then, it is a request like
 * any other.
 */
export async function forwardUpgrade(
  { control, openStreams }: ProxyContext,
  route: ProxiedRoute,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const upgrade = upgradeOf(request.raw)
  if (upgrade === undefined) {
    reply.headers({ connection: 'upgrade', upgrade: 'websocket' })
    throw new ApiError('upgradeRequired')
  }
  const client = await agentOf(control, route, request)
  const hangUp = hangUpSignal(request, reply)
  const answer = await client
    .upgrade({
      path: forwardedUrl(request.url),
      workspaceId: locationOf(request).workspace_id,
      requestId: request.id,
      headers: forwardedUpgradeHeaders(request.headers),
      signal: hangUp,
    })
    .catch((error: unknown) => refuseForwarded(error, hangUp))
  if (answer.kind === 'refused') return refuse(request, reply, answer)
  const startedAt = performance.now()
  reply.hijack()
  const socket = upgrade.accept(switchingHeaders(request, answeredHeaders(answer.response.headers)))
  const joined = joinSockets({ socket, head: upgrade.head }, answer)
  const forget = openStreams.add(() => joined.end('shutting down'))
  socket.once('close', () => {
    forget()
    const [path] = request.url.split('?', 1)
    request.log.info({ method: 'GET', path, status: 101, ms: Math.round(performance.now() - startedAt) }, 'request')
  })
  return reply
}

async function refuse(request: FastifyRequest, reply: FastifyReply, { response }: Refused): Promise<FastifyReply> {
  const { statusCode = 0, headers } = response
  const body = await readWhole(response, MAX_REFUSAL_BYTES).catch((error: unknown) => {
    throw unexpectedAnswer(request, statusCode, String(error))
  })
  if (!PASSED_ON_STATUSES.has(statusCode)) throw unexpectedAnswer(request, statusCode, body.toString())
  return reply.code(statusCode).headers(answeredHeaders(headers)).send(body)
}
