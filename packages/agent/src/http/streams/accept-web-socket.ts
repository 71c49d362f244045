/**
 * One accepted WebSocket: pings, backpressure in both directions, one close.
 *
 * Output: the sender checks `isFull` and waits for `onDrain`. Input: `addPendingInput` and `removePendingInput` count bytes
 * that the consumer has not used yet; above the maximum the agent stops reading the connection. A peer whose pong is missing
 * at the next ping counts as dead, unless the agent has stopped reading and so cannot see the pong.
 */
import { ApiError } from '@offshoot/contract/errors'
import { upgradeOf } from '@offshoot/kit/http-upgrades'
import type { FastifyReply } from 'fastify'
import { type RawData, type WebSocket, WebSocketServer } from 'ws'

/** Close code "service restart": the client should reconnect. */
export const RESTARTING = 1012
const PING_MS = 20_000
/** Maximum bytes of a frame. A larger one closes the connection with 1009 before it is read. */
const MAX_PAYLOAD_BYTES = 16 * 1024 * 1024
/** High and low watermark of unsent output, in bytes. */
const FULL_BYTES = 1024 * 1024
const DRAINED_BYTES = 256 * 1024
/** High and low watermark of pending input, in bytes. */
const INPUT_MAX_BYTES = 8 * 1024 * 1024
const INPUT_LOW_BYTES = 1024 * 1024

const server = new WebSocketServer({ noServer: true, perMessageDeflate: false, maxPayload: MAX_PAYLOAD_BYTES })
server.on('headers', (headers, request) => headers.push(`x-request-id: ${requestIds.get(request) ?? ''}`))
const requestIds = new WeakMap<object, string>()

interface Listeners {
  /** `isBinary`: a binary frame, otherwise a text frame. */
  readonly onMessage: (data: Buffer, isBinary: boolean) => void
  readonly onDrain: () => void
}

/** Validates the WebSocket handshake, before the route starts anything for it. @throws ApiError 426, 400 */
export function requireUpgrade({ request }: FastifyReply): void {
  const { raw, headers } = request
  if (upgradeOf(raw) === undefined) throw new ApiError('upgradeRequired')
  const key = headers['sec-websocket-key']
  if (headers['sec-websocket-version'] !== '13' || key === undefined || !/^[+/0-9A-Za-z]{22}==$/.test(key)) {
    throw new ApiError('invalidField', { error: 'not a WebSocket handshake of version 13' })
  }
}

export class AcceptedSocket {
  /** Resolves when either side has closed the connection. */
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
    // A protocol error of the peer: the library has already closed with the matching code.
    socket.on('error', () => undefined)
    socket.once('close', () => {
      clearInterval(pings)
      resolve()
    })
    socket.on('message', (data: RawData, isBinary: boolean) => this.#listeners?.onMessage(data as Buffer, isBinary))
  }

  /** Answers 101. Call {@link requireUpgrade} first. */
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

  /** Counts input that waits for its consumer, until {@link removePendingInput}. */
  addPendingInput(bytes: number): void {
    this.#inputBytes += bytes
    if (this.#inputBytes > INPUT_MAX_BYTES && !this.#socket.isPaused && this.isOpen) this.#socket.pause()
  }

  removePendingInput(bytes: number): void {
    this.#inputBytes -= bytes
    if (this.#inputBytes < INPUT_LOW_BYTES && this.#socket.isPaused) this.#socket.resume()
  }

  /** Closes after all pending output has been sent. */
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
