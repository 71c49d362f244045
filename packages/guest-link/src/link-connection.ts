/**
 * The host side of the guest channel: one connection, many streams.
 *
 *     connecting ──HELLO_ACK──► open ──► closed
 *
 * Invariants: a stream id is used once in the life of a connection; every stream in the table hears of its end or of the
 * connection's; nothing is sent or delivered after `closed`. The guest is not trusted: a frame that breaks the protocol
 * closes the connection, and every buffer is bounded by the windows whatever the guest sends.
 */
import type { Socket } from 'node:net'
import { FrameDecoder, FrameType, GuestProtocolError, type Frame } from '@offshoot/contract/guest-frame'
import type { Deadline } from '@offshoot/kit/deadline'
import { FrameWriter } from './frame-writer.ts'
import { GuestLinkLost } from './guest-link-error.ts'
import { Handshake, type GuestHello } from './handshake.ts'
import { LinkStreams, type LinkStream, type MakeStream, type Opening } from './link-streams.ts'
import { openSocket } from './open-socket.ts'
import { readErrorPayload } from './payloads.ts'

/** Why a link ended. */
interface GuestLinkClosed {
  /** `closed`: by the host. `lost`: the other end went away. `protocol`: the guest broke the protocol. */
  readonly reason: 'closed' | 'lost' | 'protocol'
  readonly message: string
}

/** Too much waits for the guest: on its own link, or on all together and the most of it there. */
const TAKES_NOTHING: GuestLinkClosed = { reason: 'protocol', message: 'the guest takes nothing any more' }

export class LinkConnection {
  readonly #closed = Promise.withResolvers<GuestLinkClosed>()
  /** Resolves when the connection is over, with the reason; never rejects. */
  readonly closed = this.#closed.promise
  readonly #onClose: () => void
  readonly #greeted = Promise.withResolvers<void>()
  readonly #decoder = new FrameDecoder()
  readonly #streams = new LinkStreams()
  readonly #handshake = new Handshake()
  #hello: GuestHello | undefined
  #isClosed = false
  #socket: Socket | undefined
  #writer: FrameWriter | undefined

  /** @param onClose called once, before the streams hear that the connection is over */
  constructor(onClose: () => void) {
    this.#onClose = onClose
    this.#greeted.promise.catch(() => {})
  }

  /** Once. @throws DeadlineExceeded; GuestLinkLost; GuestProtocolError on another protocol version */
  async connect(socketPath: string, deadline: Deadline): Promise<void> {
    const socket = await openSocket(socketPath, { onBytes: (bytes) => this.#onBytes(bytes) }, deadline)
    try {
      this.#greet(socket)
      await deadline.race(this.#greeted.promise)
    } catch (error) {
      this.close()
      throw error
    }
  }

  get hello(): GuestHello {
    if (this.#hello === undefined) throw new Error('the guest has not answered yet')
    return this.#hello
  }

  /** Sends the first frame of a new stream. @throws GuestLinkLost */
  open<T extends LinkStream>(opening: Opening, make: MakeStream<T>, isUrgent = false): T {
    if (this.#isClosed) throw new GuestLinkLost('guest link: already closed')
    const id = this.#streams.takeId()
    const stream = make(id, (frame) => this.#send(frame), this.#streams.wide)
    this.#streams.set(id, stream)
    this.#send(opening(id), isUrgent)
    return stream
  }

  /** Keeps back every frame that is not urgent. */
  keep(): void {
    this.#writer?.keep()
  }

  /** What was kept back leaves now. */
  letGo(): void {
    this.#writer?.letGo()
  }

  close(): void {
    this.#close({ reason: 'closed', message: 'the link was closed' })
  }

  #greet(socket: Socket): void {
    this.#socket = socket
    this.#writer = new FrameWriter(socket, () => this.#close(TAKES_NOTHING))
    socket.on('error', (error) =>
      this.#close({ reason: 'lost', message: `the guest's socket failed: ${error.message}` }),
    )
    socket.on('close', () => this.#close({ reason: 'lost', message: "the guest's socket was closed" }))
    if (socket.destroyed) this.#close({ reason: 'lost', message: "the guest's socket was closed" })
    else socket.write(this.#handshake.opening)
  }

  #onBytes(bytes: Uint8Array): void {
    if (this.#isClosed) return
    try {
      const framed = this.#handshake.find(bytes)
      if (framed !== undefined) this.#decoder.push(framed, (frame) => this.#onFrame(frame))
    } catch (error) {
      if (!(error instanceof GuestProtocolError)) throw error
      this.#greeted.reject(error)
      this.#close({ reason: 'protocol', message: error.message })
    }
  }

  #onFrame(frame: Frame): void {
    if (this.#isClosed) return
    if (this.#hello === undefined) {
      this.#hello = this.#handshake.answered(frame.payload, (opening) => this.#socket?.write(opening))
      if (this.#hello !== undefined) this.#greeted.resolve()
      return
    }
    if (frame.type === FrameType.reset) {
      throw new GuestProtocolError(`the guest ended the connection: ${readErrorPayload(frame.payload).text}`)
    }
    this.#streams.deliver(frame)
  }

  #send(frame: Uint8Array, isUrgent = false): void {
    if (this.#isClosed || this.#writer?.write(frame, isUrgent) !== false) return
    this.#close(TAKES_NOTHING)
  }

  #close(why: GuestLinkClosed): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#writer?.end()
    const error = new GuestLinkLost(`guest link: ${why.message}`)
    this.#greeted.reject(error)
    this.#onClose()
    this.#streams.lose(error)
    this.#closed.resolve(why)
  }
}
