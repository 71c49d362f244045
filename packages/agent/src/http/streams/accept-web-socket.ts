/**
 * One upgraded connection: pings, bounded memory both ways, one end.
 *
 * Output: the sender asks `isFull` and waits for `onDrain`. Input: what is taken and not yet used counts, by
 * `addPendingInput` and `removePendingInput`; over the maximum the connection is not read any more. A peer whose pong is missing at the next ping
 * is gone, unless it is we who do not read.
 */
import { ApiError } from '@offshoot/contract/errors'
import { upgradeOf } from '@offshoot/kit/http-upgrades'
import type { FastifyReply } from 'fastify'
import { type RawData, type WebSocket, WebSocketServer } from 'ws'

/** Close code "service restart": connect again. */
export const RESTARTING = 1012
const PING_MS = 20_000
/** Bytes of a frame over which the connection is closed with 1009, unread. */
const MAX_PAYLOAD_BYTES = 16 * 1024 * 1024
/** Bytes not yet taken by the network, at which writers stop and go on. */
const FULL_BYTES = 1024 * 1024
const DRAINED_BYTES = 256 * 1024
/** Bytes of input not yet used, at which reading stops and goes on. */
const INPUT_MAX_BYTES = 8 * 1024 * 1024
const INPUT_LOW_BYTES = 1024 * 1024

const server = new WebSocketServer({ noServer: true, perMessageDeflate: false, maxPayload: MAX_PAYLOAD_BYTES })
server.on('headers', (headers, request) => headers.push(`x-request-id: ${requestIds.get(request) ?? ''}`))
const requestIds = new WeakMap<object, string>()

interface Listeners {
  /** `isBinary` tells bytes from text. */
  readonly onMessage: (data: Buffer, isBinary: boolean) => void
  readonly onDrain: () => void
}

/** Whether a request asks for an upgrade that can be; before anything is begun for it. @throws ApiError 426, 400 */
export function requireUpgrade({ request }: FastifyReply): void {
  const { raw, headers } = request
  if (upgradeOf(raw) === undefined) throw new ApiError('upgradeRequired')
  const key = headers['sec-websocket-key']
  if (headers['sec-websocket-version'] !== '13' || key === undefined || !/^[+/0-9A-Za-z]{22}==$/.test(key)) {
    throw new ApiError('invalidField', { error: 'not a WebSocket handshake of version 13' })
  }
}

export class AcceptedSocket {
  /** Resolves when the connection is closed, whoever closed it. */
  readonly closed: Promise<void>
  readonly #socket: WebSocket
  #listeners: Listeners | undefined
  #isFull = false
  #inputBytes = 0
  #isAlive = true

  private constructor(socket: WebSocket) {
    this.#socket = socket
    const { promise, resolve } = Promise.withResolvers<void>()
    this.closed = promise
    const pings = setInterval(() => this.#ping(), PING_MS)
    socket.on('pong', () => (this.#isAlive = true))
    // A frame that breaks the protocol: the library has closed with the code for it.
    socket.on('error', () => undefined)
    socket.once('close', () => {
      clearInterval(pings)
      resolve()
    })
    socket.on('message', (data: RawData, isBinary: boolean) => this.#listeners?.onMessage(data as Buffer, isBinary))
  }

  /** Answers 101; {@link requireUpgrade} came before. */
  static accept(reply: FastifyReply): AcceptedSocket {
    const { raw, id } = reply.request
    const upgrade = upgradeOf(raw)
    if (upgrade === undefined) throw new ApiError('upgradeRequired')
    reply.hijack()
    requestIds.set(raw, id)
    const accepted: AcceptedSocket[] = []
    server.handleUpgrade(raw, upgrade.take(), upgrade.head, (socket) => accepted.push(new AcceptedSocket(socket)))
    const [socket] = accepted
    if (socket === undefined) throw new Error('the handshake was refused after it had been checked')
    const [path] = raw.url?.split('?', 1) ?? []
    reply.request.log.info({ request_id: id, method: 'GET', path, status: 101 }, 'request')
    return socket
  }

  listen(listeners: Listeners): void {
    this.#listeners = listeners
  }

  get isFull(): boolean {
    return this.#isFull
  }

  get isOpen(): boolean {
    return this.#socket.readyState === this.#socket.OPEN
  }

  sendJson(value: unknown): void {
    this.sendText(JSON.stringify(value))
  }

  sendText(text: string): void {
    this.#send(text)
  }

  sendBytes(bytes: Buffer): void {
    this.#send(bytes)
  }

  /** Input that is kept until {@link removePendingInput} says it is used. */
  addPendingInput(bytes: number): void {
    this.#inputBytes += bytes
    if (this.#inputBytes > INPUT_MAX_BYTES && !this.#socket.isPaused && this.isOpen) this.#socket.pause()
  }

  removePendingInput(bytes: number): void {
    this.#inputBytes -= bytes
    if (this.#inputBytes < INPUT_LOW_BYTES && this.#socket.isPaused) this.#socket.resume()
  }

  /** After all that was sent. */
  close(code: number, reason = ''): void {
    if (this.#socket.isPaused) this.#socket.resume()
    this.#listeners = undefined
    this.#socket.close(code, reason)
  }

  #send(data: string | Buffer): void {
    if (!this.isOpen) return
    this.#socket.send(data, () => {
      if (!this.#isFull || this.#socket.bufferedAmount > DRAINED_BYTES) return
      this.#isFull = false
      this.#listeners?.onDrain()
    })
    if (this.#socket.bufferedAmount > FULL_BYTES) this.#isFull = true
  }

  #ping(): void {
    if (!this.#isAlive && !this.#socket.isPaused && !this.#isFull) {
      this.#socket.terminate()
      return
    }
    this.#isAlive = false
    this.#socket.ping()
  }
}
