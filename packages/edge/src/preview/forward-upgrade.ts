import { type IncomingMessage, request as httpRequest, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { HttpUpgrade } from '@offshoot/kit/http-upgrades'
import { joinSockets } from './join-sockets.ts'
import { refusals } from '../http/refusal.ts'
import { requestIdOf } from '../http/request-id.ts'
import { responseHeaders } from './response-headers.ts'

/** Milliseconds for the server inside to answer an upgrade. */
const ANSWER_MS = 60_000

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
  /** Closes the WebSocket with code 1012, so that the client reconnects. */
  readonly end: () => void
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
  const answer = await ask(inside, request, target, [...headers, 'connection', 'Upgrade', 'upgrade', 'websocket'])
  response.off('close', leave)
  if (answer.kind === 'refused') {
    passOn(answer.response, response, requestIdOf(request))
    return null
  }
  const visitor = upgrade.take()
  const answered = responseHeaders(answer.response.rawHeaders, requestIdOf(request))
  visitor.write(headOf([...answered, 'connection', 'Upgrade', 'upgrade', 'websocket']), 'latin1')
  if (upgrade.head.length > 0) visitor.unshift(upgrade.head)
  if (answer.head.length > 0) answer.socket.unshift(answer.head)
  return { visitor, end: joinSockets(visitor, answer.socket) }
}

type Answer =
  | { readonly kind: 'agreed'; readonly response: IncomingMessage; readonly socket: Socket; readonly head: Buffer }
  | { readonly kind: 'refused'; readonly response: IncomingMessage }

function ask(inside: Socket, { method }: IncomingMessage, path: string, headers: string[]): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>()
  const asked = httpRequest({ createConnection: () => inside, method, path, headers })
  asked.setTimeout(ANSWER_MS, () => asked.destroy(refusals.tooSlow()))
  asked.once('upgrade', (response, _stream, head) => {
    inside.setTimeout(0)
    const isWebSocket = response.headers.upgrade?.toLowerCase() === 'websocket'
    if (isWebSocket) resolve({ kind: 'agreed', response, socket: inside, head })
    else asked.destroy(new Error('the server agreed to another protocol'))
  })
  asked.once('response', (response) => resolve({ kind: 'refused', response }))
  asked.on('error', reject)
  asked.end()
  return promise
}

function passOn(from: IncomingMessage, to: ServerResponse, requestId: string): void {
  to.sendDate = false
  to.writeHead(from.statusCode ?? 502, from.statusMessage, responseHeaders(from.rawHeaders, requestId))
  from.pipe(to)
  from.once('error', () => to.destroy())
  to.once('close', () => from.destroy())
}

function headOf(headers: readonly string[]): string {
  let head = 'HTTP/1.1 101 Switching Protocols\r\n'
  for (let at = 0; at + 1 < headers.length; at += 2) head += `${headers[at]}: ${headers[at + 1]}\r\n`
  return `${head}\r\n`
}
