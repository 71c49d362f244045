import { pipeline, Readable } from 'node:stream'
import { ApiError } from '@offshoot/contract/errors'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Dispatcher } from 'undici'
import { EVENTS_SILENCE_MS } from '../agent-client.ts'
import { locationOf } from '../admitted-sandbox.ts'
import { hangUpSignal } from '../../platform/http/hang-up.ts'
import { agentOf, refuseForwarded, unexpectedAnswer } from './agent-of.ts'
import { EventStreamTail } from './event-stream-tail.ts'
import { answeredHeaders, forwardedHeaders } from './forwarded-headers.ts'
import { forwardedUrl } from './forwarded-url.ts'
import { PASSED_ON_STATUSES } from './passed-on-statuses.ts'
import type { ProxiedRoute } from './proxied-route.ts'
import type { ProxyContext } from './proxy-context.ts'
import { MAX_REFUSAL_BYTES, readBeginning } from '../../platform/http/bounded-body.ts'

/** Milliseconds until the first byte of the answer. The operation may move gigabytes before it answers. */
const ANSWER_MS = 600_000
/** Milliseconds within which an agent must send some more of a body, while control reads it. */
const SILENCE_MS = 120_000

/** Forwards the request and streams the answer back. If either side hangs up, control closes the other. */
export async function forward(
  { control, openStreams }: ProxyContext,
  route: ProxiedRoute,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const client = await agentOf(control, route, request)
  const hangUp = hangUpSignal(request, reply)
  const body = request.body instanceof Readable ? request.body : undefined
  const answer = await client
    .forward({
      method: request.method,
      path: forwardedUrl(request.url),
      workspaceId: locationOf(request).workspace_id,
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

/** Clients send JSON with many content types or none, so a route with a JSON body always forwards it as JSON. */
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
 * Sends the head at once instead of together with the first byte of the body, which may take long.
 * @param onStream gets a function that ends an event stream early, and returns a function to call when the stream has
 * ended
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
    // Only streams of GETs end early: clients can follow those again. The stream of a command must run to its end.
    const forget = onStream(() => {
      tail.breakOff('shutting down')
      body.destroy()
    })
    pipeline(tail, raw, () => {
      forget()
      body.destroy()
    })
  } else {
    // If the agent's body breaks off, close the caller's connection, so that a truncated body does not look complete.
    pipeline(body, raw, () => undefined)
  }
  return reply
}
