import { type IncomingMessage, request as httpRequest } from 'node:http'
import { request as httpsRequest } from 'node:https'
import type { Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import type { Deadline } from '@offshoot/kit/deadline'
import { sendUpgrade } from '@offshoot/kit/http-upgrades'
import { connectToPeer, NoIdentity, type Peer } from '@offshoot/kit/mutual-tls'
import { startClientSpan } from '@offshoot/kit/otlp/telemetry'
import type { Agent } from './agent.ts'

/** Milliseconds that requests wait for an agent that restarts. */
const AGENT_AWAY_MS = 10_000
const RETRY_MS = 100
/** Milliseconds to open a connection, with TLS. A host that is cut off gives no error. */
const CONNECT_MS = 5_000
/** The same for a host that control has not heard for long. The edge may reach it nevertheless. */
const CONNECT_TO_LOST_MS = 1_000
/** Maximum characters to read of a refusal. */
const MAX_REFUSAL_CHARS = 16 * 1024

/** The agent refused the connection. */
export class PortRefused extends Error {
  override readonly name = 'PortRefused'
  readonly status: number
  /** The agent's answer. */
  readonly body: string

  constructor(status: number, text: string) {
    super(`the agent answered ${status}: ${text}`)
    this.body = text
    this.status = status
  }
}

/** The edge could not reach the agent in time. It has sent nothing to the sandbox. */
export class AgentAway extends Error {
  override readonly name = 'AgentAway'
}

/** No connection was established, or the other side could not prove that it is the agent. Nothing was sent. */
class NotConnected extends Error {
  override readonly name = 'NotConnected'
}

/** An upgrade that an agent is asked for. */
export interface WantedUpgrade {
  readonly path: string
  /** Value of the header `Upgrade`. */
  readonly protocol: string
  /** The bearer token. Asked for again with each attempt. */
  readonly token: () => Promise<string>
  /** Further headers. */
  readonly headers?: Readonly<Record<string, string>>
}

/**
 * Opens an upgraded connection to an agent, of which each direction can end alone. Retries while the agent restarts, but
 * not if its host is lost.
 * @throws PortRefused, AgentAway, DeadlineExceeded
 */
export async function openUpgrade(agent: Agent, wanted: WantedUpgrade, deadline: Deadline): Promise<Socket> {
  const patience = deadline.within(AGENT_AWAY_MS, `answer of ${agent.url}`)
  for (;;) {
    try {
      return await openOnce(agent, wanted, deadline)
    } catch (error) {
      if (!isAway(error)) throw error
      if (agent.isLost || patience.remainingMs === 0) throw new AgentAway(`${agent.url} is away`, { cause: error })
    }
    await delay(RETRY_MS)
  }
}

/** An agent that shuts down answers 503, or closes the connection instead of an answer. */
function isAway(error: unknown): boolean {
  if (error instanceof PortRefused) return error.status === 503
  if (error instanceof NotConnected || error instanceof NoIdentity) return true
  return (error as NodeJS.ErrnoException).code === 'ECONNRESET'
}

async function openOnce(
  { url, server, peer, isLost }: Agent,
  { path, protocol, token, headers }: WantedUpgrade,
  deadline: Deadline,
): Promise<Socket> {
  const authorization = `Bearer ${await token()}`
  const span = startClientSpan('GET', server)
  const send = peer.tls === null ? httpRequest : httpsRequest
  let isConnected = false
  const request = send(`${url}${path}`, {
    // The end of one direction must not close the other.
    createConnection: () =>
      connectInTime(peer, isLost ? CONNECT_TO_LOST_MS : CONNECT_MS).once(
        connectEvent(peer),
        () => (isConnected = true),
      ),
    headers: {
      connection: 'Upgrade',
      upgrade: protocol,
      authorization,
      ...headers,
      ...span?.headers,
    },
  })
  const answered = sendUpgrade(request).catch((error: Error) => {
    throw isConnected ? error : new NotConnected(error.message, { cause: error })
  })
  try {
    const answer = await deadline.race(answered)
    span?.answered(answer.response.statusCode ?? 0)
    if (answer.kind === 'refused') throw await deadline.race(readRefusal(answer.response))
    if (answer.head.length > 0) answer.socket.unshift(answer.head)
    return answer.socket as Socket
  } catch (error) {
    request.destroy()
    if (!(error instanceof PortRefused)) span?.fail(error)
    // The upgrade may still arrive after the deadline.
    answered.then(
      (answer) => answer.kind === 'upgraded' && answer.socket.destroy(),
      () => undefined,
    )
    throw error
  } finally {
    span?.end()
  }
}

function connectInTime(peer: Peer, withinMs: number): Socket {
  const socket = connectToPeer(peer, { allowHalfOpen: true })
  const timer = setTimeout(() => socket.destroy(new Error(`no connection within ${withinMs} ms`)), withinMs)
  for (const event of [connectEvent(peer), 'close']) socket.once(event, () => clearTimeout(timer))
  return socket
}

/** The event of a socket after which something can be sent. */
function connectEvent({ tls }: Peer): string {
  return tls === null ? 'connect' : 'secureConnect'
}

async function readRefusal(response: IncomingMessage): Promise<PortRefused> {
  let text = ''
  for await (const chunk of response.setEncoding('utf8') as AsyncIterable<string>) {
    if (text.length < MAX_REFUSAL_CHARS) text += chunk
  }
  return new PortRefused(response.statusCode ?? 0, text.slice(0, MAX_REFUSAL_CHARS))
}
