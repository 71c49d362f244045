import { DeadlineExceeded } from '@offshoot/kit/deadline'
import { errors } from 'undici'
import { AgentAway, PortRefused } from '../agents/open-upgrade.ts'
import { refusalPage } from './refusal-page.ts'
import { REQUEST_ID, requestIdOf } from './request-id.ts'
import { breakOff, type VisitorRequest, type VisitorResponse } from './visitor.ts'

/** An answer of the edge itself, instead of the sandbox's. */
export class Refusal extends Error {
  override readonly name = 'Refusal'
  readonly status: number
  /** What the user can do about it. */
  readonly advice: string
  readonly headers: Readonly<Record<string, string>>

  /** @param advice text between backquotes is shown as code on the page, and without backquotes elsewhere */
  constructor(status: number, error: string, advice = '', headers: Readonly<Record<string, string>> = {}) {
    super(error)
    this.status = status
    this.advice = advice
    this.headers = headers
  }
}

/** Tells a gateway in front of the edge that the answer is not the sandbox's. */
const REFUSAL = 'x-offshoot-refusal'

const RETRY = { 'retry-after': '1' }

export const refusals = {
  badRequest: (why: string) => new Refusal(400, why),
  unknownHost: () =>
    new Refusal(
      404,
      'not found',
      'Preview addresses look like `http://<port>-<sandbox id>.<suffix>`; this is none of them.',
    ),
  unknownSandbox: () => new Refusal(404, 'sandbox not found', 'It does not exist, or it has been deleted.'),
  noCodeDeployed: () =>
    new Refusal(
      404,
      'no code deployed yet',
      'Deploy this app with `POST /v1/apps/{id}/deploys`, then load this page again.',
    ),
  firstBuild: () =>
    new Refusal(503, 'this app is being built', 'Its first version is on its way: load this page again in a moment.', {
      'retry-after': '5',
    }),
  /** The app's workspace is paused. The specification sets status and header. */
  suspended: () =>
    new Refusal(503, 'this app is suspended', 'Whoever runs it has to look after their account first.', {
      'retry-after': '3600',
      'x-service-app': 'suspended',
    }),
  /** The app's version is gone, and the next one does not serve yet. */
  appAway: () => new Refusal(503, 'this app does not run just now', 'Load this page again in a moment.', RETRY),
  notRunning: () => new Refusal(404, 'sandbox not found or not running', 'It failed, or it is being deleted.'),
  paused: () =>
    new Refusal(
      503,
      'sandbox is paused',
      'Resume it with `POST /v1/sandboxes/{id}/resume`, then load this page again.',
      RETRY,
    ),
  private: () =>
    new Refusal(
      401,
      'this preview is private',
      'Open it with a link from a member of its workspace, or send the header `X-Offshoot-Preview-Token`.',
    ),
  /** The edge did not know it yet. By the next request it does. */
  becamePrivate: () => new Refusal(503, 'this preview has just become private', 'Load this page again.', RETRY),
  accessUnchecked: () =>
    new Refusal(503, 'access to this private preview cannot be checked', 'Load this page again in a moment.', RETRY),
  portNotPublic: () =>
    new Refusal(
      403,
      'this port is not public',
      'It belongs to the code interpreter: run code with `POST /v1/sandboxes/{id}/code`.',
    ),
  nothingListening: (port: number) =>
    new Refusal(
      502,
      `nothing is listening on port ${port}`,
      `Start a server in the sandbox, for example \`python3 -m http.server ${port}\`, then load this page again.`,
    ),
  noMemory: () => new Refusal(503, 'insufficient host memory for sandbox', 'It cannot be woken just now.', RETRY),
  tooManyRequests: () => new Refusal(429, 'too many requests to this sandbox', '', RETRY),
  tooManyConnections: () => new Refusal(429, 'too many connections to this sandbox', '', RETRY),
  agentAway: () => new Refusal(502, 'agent unreachable', 'The host of this sandbox cannot be reached just now.', RETRY),
  tooSlow: () => new Refusal(504, 'the sandbox did not answer in time', '', RETRY),
  badAnswer: (port: number) => new Refusal(502, `the server on port ${port} gave no valid HTTP answer`),
  shuttingDown: () => new Refusal(503, 'shutting down', '', RETRY),
} as const

/** The answer for a failure before the first byte of a response. */
export function refusalOf(error: unknown, port: number): Refusal {
  if (error instanceof Refusal) return error
  if (error instanceof PortRefused) return ofAgent(error, port)
  if (error instanceof AgentAway) return refusals.agentAway()
  if (error instanceof DeadlineExceeded || error instanceof errors.HeadersTimeoutError) return refusals.tooSlow()
  return refusals.badAnswer(port)
}

/** The same for an app's host: its visitors should not read about sandboxes. */
export function refusalOfApp(error: unknown, port: number): Refusal {
  if (error instanceof PortRefused && (error.status === 402 || error.status === 409)) return refusals.suspended()
  const refusal = refusalOf(error, port)
  return refusal.status === 404 ? refusals.appAway() : refusal
}

function ofAgent({ status }: PortRefused, port: number): Refusal {
  switch (status) {
    case 403:
      return refusals.becamePrivate()
    case 404:
      return refusals.notRunning()
    case 409:
      return refusals.paused()
    case 429:
      return refusals.tooManyConnections()
    case 502:
      return refusals.nothingListening(port)
    case 507:
      return refusals.noMemory()
    default:
      return refusals.agentAway()
  }
}

/** Answers with a page, or with JSON if the client accepts JSON but no HTML. */
export function sendRefusal(request: VisitorRequest, response: VisitorResponse, refusal: Refusal): void {
  if (response.headersSent || response.destroyed) {
    breakOff(request, response)
    return
  }
  const accept = request.headers.accept ?? ''
  const isJson =
    /application\/([\w.-]+\+)?json/i.test(accept) && !/text\/html/i.test(accept) && !refusal.headers['x-service-app']
  const requestId = requestIdOf(request)
  const body = Buffer.from(isJson ? jsonOf(refusal) : refusalPage(refusal, requestId))
  response.writeHead(refusal.status, {
    ...refusal.headers,
    [REQUEST_ID]: requestId,
    [REFUSAL]: refusal.message,
    'content-type': isJson ? 'application/json; charset=utf-8' : 'text/html; charset=utf-8',
    'content-length': body.length,
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    ...(isJson ? {} : { 'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'" }),
    // The edge does not wait for the rest of an upload.
    ...(request.httpVersionMajor === 1 && !request.complete && { connection: 'close' }),
  })
  if (request.method === 'HEAD') response.end()
  else response.end(body)
}

function jsonOf({ message, advice }: Refusal): string {
  return JSON.stringify({ error: message, ...(advice !== '' && { detail: advice.replaceAll('`', '') }) })
}
