import { type IncomingHttpHeaders, type IncomingMessage, request as httpRequest } from 'node:http'
import { type Duplex, pipeline, Readable } from 'node:stream'
import { ApiError } from '@offshoot/contract/errors'
import { sendUpgrade, upgradeOf } from '@offshoot/kit/http-upgrades'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { answeredHeaders, switchingHeaders } from '../../fleet/proxy/forwarded-headers.ts'
import { joinSockets } from '../../fleet/proxy/join-sockets.ts'
import type { OpenStreams } from '../../platform/http/open-streams.ts'

/** Milliseconds for an app to begin its answer. */
const ANSWER_MS = 600_000
/**
 * Headers with which an app would change how browsers treat the API's origin. An app can set cookies at its own
 * address. Control sets the content security policy itself.
 */
const OF_THE_ORIGIN = new Set([
  'alt-svc',
  'clear-site-data',
  'content-security-policy',
  'content-security-policy-report-only',
  'nel',
  'report-to',
  'reporting-endpoints',
  'service-worker-allowed',
  'set-cookie',
  'set-cookie2',
  'strict-transport-security',
])
/**
 * A tenant's page on the API's origin must not run with that origin. `sandbox` gives the page an opaque origin and no
 * scripts, so it can read neither the API's cookies nor the token in its own address.
 */
const ISOLATION = {
  'content-security-policy': 'sandbox',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
} as const

export interface Asked {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  readonly path: string
  readonly headers: Readonly<Record<string, string | string[]>>
  /** The connection to the app, for this request only. */
  readonly socket: Duplex
}

/** Sends the request and streams the answer. If either side hangs up, control closes the other. */
export async function askApp({ request, reply, path, headers, socket }: Asked): Promise<FastifyReply> {
  const body = request.body instanceof Readable ? request.body : null
  const asked = httpRequest({ createConnection: () => socket, method: request.method, path, headers: { ...headers } })
  reply.raw.once('close', () => socket.destroy())
  const answer = await answerTo(asked, body)
  passOn(reply, answer)
  return reply
}

function answerTo(asked: ReturnType<typeof httpRequest>, body: Readable | null): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  asked.setTimeout(ANSWER_MS, () => asked.destroy(new Error('no answer in time')))
  asked.once('response', resolve)
  asked.on('error', (error) =>
    reject(new ApiError('nothingListening', { detail: 'it gave no valid answer' }, { cause: error })),
  )
  if (body === null) asked.end()
  else pipeline(body, asked, () => undefined)
  return promise
}

function passOn(reply: FastifyReply, answer: IncomingMessage): void {
  const own = reply.getHeaders() as Record<string, string | string[]>
  reply.hijack()
  const { raw } = reply
  raw.writeHead(answer.statusCode ?? 502, { ...appHeaders(answer.headers), ...ISOLATION, ...own })
  raw.flushHeaders()
  pipeline(answer, raw, () => undefined)
}

function appHeaders(headers: IncomingHttpHeaders): ReturnType<typeof answeredHeaders> {
  return Object.fromEntries(Object.entries(answeredHeaders(headers)).filter(([name]) => !OF_THE_ORIGIN.has(name)))
}

/** Once the app has accepted the upgrade, joins the two connections. Until then, it is a request like any other. */
export async function upgradeToApp(
  { request, reply, path, headers, socket }: Asked,
  openStreams: OpenStreams,
): Promise<FastifyReply> {
  const upgrade = upgradeOf(request.raw)
  if (upgrade === undefined) throw new ApiError('upgradeRequired')
  const asked = httpRequest({
    createConnection: () => socket,
    path,
    headers: { ...headers, connection: 'Upgrade', upgrade: 'websocket' },
  })
  asked.setTimeout(ANSWER_MS, () => asked.destroy(new Error('no answer in time')))
  const answer = await sendUpgrade(asked).catch((error: unknown) => {
    throw new ApiError('nothingListening', {}, { cause: error })
  })
  if (answer.kind === 'refused') {
    passOn(reply, answer.response)
    return reply
  }
  asked.setTimeout(0)
  reply.hijack()
  const caller = upgrade.accept(switchingHeaders(request, appHeaders(answer.response.headers)))
  const joined = joinSockets({ socket: caller, head: upgrade.head }, { socket, head: answer.head })
  const forget = openStreams.add(() => joined.end('shutting down'))
  caller.once('close', forget)
  return reply
}
