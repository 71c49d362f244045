import { pipeline, Readable } from 'node:stream'
import { ApiError } from '@offshoot/contract/errors'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Dispatcher } from 'undici'
import { EVENTS_SILENCE_MS } from '../agent-client.ts'
import { placeOf } from '../admitted-sandbox.ts'
import { hangUpSignal } from '../../platform/http/hang-up.ts'
import { agentOf, refuseForwarded, unexpectedAnswer } from './agent-of.ts'
import { EventStreamTail } from './event-stream-tail.ts'
import { answeredHeaders, forwardedHeaders } from './forwarded-headers.ts'
import { forwardedUrl } from './forwarded-url.ts'
import { PASSED_ON_STATUSES } from './passed-on-statuses.ts'
import type { ProxiedRoute } from './proxied-route.ts'
import type { ProxyContext } from './proxy-context.ts'
import { MAX_REFUSAL_BYTES, readBeginning } from '../../platform/http/bounded-body.ts'

/** Milliseconds until the first byte of an answer. What is asked may move gigabytes before it answers. */
const ANSWER_MS = 600_000
/** Milliseconds in which an agent that sends a body must send some of it, while we take it. */
const SILENCE_MS = 120_000

/** Sends the request on, and the answer back, piece by piece; either end that hangs up ends the other. */
export async function forward(
  { control, openStreams }: ProxyContext,
  route: ProxiedRoute,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const client = agentOf(control, route, request)
  const hangUp = hangUpSignal(request, reply)
  const body = request.body instanceof Readable ? request.body : undefined
  const answer = await client
    .forward({
      method: request.method,
      path: forwardedUrl(request.url),
      workspaceId: placeOf(request).workspace_id,
      requestId: request.id,
      headers: headersOf(route, request, body !== undefined),
      ...(body && { body }),
      timeoutMs: ANSWER_MS,
      silenceMs: route.kind === 'sse' ? EVENTS_SILENCE_MS : SILENCE_MS,
      signal: hangUp,
    })
    .catch((error: unknown) => {
      if (body?.errored instanceof ApiError) throw body.errored
      return refuseForwarded(error, hangUp)
    })
  if (!PASSED_ON_STATUSES.has(answer.statusCode)) {
    const text = (await readBeginning(answer.body, MAX_REFUSAL_BYTES)).toString()
    throw unexpectedAnswer(request, answer.statusCode, text)
  }
  return passOn(reply, answer, (end) => (request.method === 'GET' ? openStreams.add(end) : () => undefined))
}

/** JSON comes under many names, or none, and is read as JSON. */
function headersOf({ docs }: ProxiedRoute, { headers }: FastifyRequest, hasBody: boolean): Record<string, string> {
  const { 'content-type': type, 'content-length': length, ...rest } = forwardedHeaders(headers)
  if (!hasBody) return rest
  const chosen = docs.body === undefined ? type : 'application/json'
  return {
    ...rest,
    ...(length !== undefined && { 'content-length': length }),
    ...(chosen !== undefined && { 'content-type': chosen }),
  }
}

/**
 * Writes the head at once, not with the first byte of the body: that may be long in coming.
 * @param onStream is told how to end a stream of events early, and gives what to call at its end
 */
export function passOn(
  reply: FastifyReply,
  { statusCode, headers, body }: Dispatcher.ResponseData,
  onStream: (end: () => void) => () => void,
): FastifyReply {
  const { raw } = reply
  const own = reply.getHeaders() as Record<string, string | string[]>
  reply.hijack()
  raw.writeHead(statusCode, { ...answeredHeaders(headers), ...own })
  raw.flushHeaders()
  if (String(headers['content-type']).startsWith('text/event-stream')) {
    const tail = new EventStreamTail()
    body.on('error', () => tail.breakOff('agent unreachable'))
    body.pipe(tail)
    // A command ends by itself, and should; what only follows can be asked for again.
    const forget = onStream(() => {
      tail.breakOff('shutting down')
      body.destroy()
    })
    pipeline(tail, raw, () => {
      forget()
      body.destroy()
    })
  } else {
    // A body that breaks off breaks the caller's connection: cut short must not look like whole.
    pipeline(body, raw, () => undefined)
  }
  return reply
}
