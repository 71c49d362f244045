import { type IncomingMessage, request as httpRequest, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { type HttpUpgrade, sendUpgrade } from '@offshoot/kit/http-upgrades'
import { type Goodbye, joinSockets } from './join-sockets.ts'
import { refusals } from '../http/refusal.ts'
import { requestIdOf } from '../http/request-id.ts'
import { responseHeaders } from './response-headers.ts'

/** Milliseconds for the server inside to answer an upgrade. */
const ANSWER_MS = 60_000
/** Names and values alternate. */
const SWITCHING = ['connection', 'Upgrade', 'upgrade', 'websocket']

export interface UpgradeForwarded {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly upgrade: HttpUpgrade
  /** Names and values alternate. */
  readonly headers: readonly string[]
  readonly target: string
}

interface Joined {
  readonly visitor: Socket
  /** Closes the WebSocket in the server's place. */
  readonly end: (why: Goodbye) => void
}

/**
 * Forwards an upgrade request to a server inside a sandbox on a new connection. If the server agrees, the two
 * connections are joined byte for byte; close codes, pings and extensions pass unchanged.
 * @param inside the connection to the server; this function takes it over
 * @returns the visitor's connection after an upgrade, and a function that closes it in the server's place; `null` after
 *   any other answer
 */
export async function forwardUpgrade(inside: Socket, forwarded: UpgradeForwarded): Promise<Joined | null> {
  const { request, response, upgrade, headers, target } = forwarded
  const leave = () => inside.destroy()
  response.once('close', leave)
  const asked = httpRequest({
    createConnection: () => inside,
    method: request.method,
    path: target,
    headers: [...headers, ...SWITCHING],
  })
  asked.setTimeout(ANSWER_MS, () => asked.destroy(refusals.tooSlow()))
  const answer = await sendUpgrade(asked)
  if (answer.kind === 'refused') {
    response.off('close', leave)
    passOn(answer.response, response, requestIdOf(request))
    return null
  }
  if (answer.response.headers.upgrade?.toLowerCase() !== 'websocket') {
    inside.destroy()
    throw new Error('the server agreed to another protocol')
  }
  inside.setTimeout(0)
  response.off('close', leave)
  const visitor = upgrade.accept([...responseHeaders(answer.response.rawHeaders, requestIdOf(request)), ...SWITCHING])
  if (upgrade.head.length > 0) visitor.unshift(upgrade.head)
  if (answer.head.length > 0) inside.unshift(answer.head)
  return { visitor, end: joinSockets(visitor, inside) }
}

function passOn(from: IncomingMessage, to: ServerResponse, requestId: string): void {
  to.sendDate = false
  to.writeHead(from.statusCode ?? 502, from.statusMessage, responseHeaders(from.rawHeaders, requestId))
  from.pipe(to)
  from.once('error', () => to.destroy())
  to.once('close', () => from.destroy())
}
