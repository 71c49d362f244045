/**
 * The host side of the guest channel: one connection, many streams.
 *
 *     connecting ──HELLO_ACK──► open ──► closed
 *
 * Invariants: a stream id is used once in the life of a connection. Every stream receives its last frame, or
 * `onLinkLost`. Nothing is sent or delivered after `closed`. The guest is not trusted: a frame that breaks the protocol
 * closes the connection, and the windows limit every buffer.
 */
import type { Socket } from 'node:net'
import { FrameDecoder, FrameType, GuestProtocolError, type Frame } from '@offshoot/contract/guest-frame'
import type { Deadline } from '@offshoot/kit/deadline'
import { FrameWriter } from './frame-writer.ts'
import { GuestLinkLost } from './guest-link-error.ts'
import { Handshake, type GuestHello } from './handshake.ts'
import { LinkStreams, type LinkStream, type MakeStream, type FirstFrame } from './link-streams.ts'
import { openSocket } from './open-socket.ts'
import { readErrorPayload } from './payloads.ts'

/** Why a link ended. */
interface GuestLinkClosed {
  /** `closed`: by the host. `lost`: the socket was closed or failed. `protocol`: the guest broke the protocol. */
  readonly reason: 'closed' | 'lost' | 'protocol'
  readonly message: string
}

/** Too many bytes wait for the guest, on its own link or on all links together. */
const NOT_READING: GuestLinkClosed = {
  reason: 'protocol',
  message: 'the guest does not read: too many bytes wait for it',
}

export class LinkConnection {
  readonly #closed = Promise.withResolvers<GuestLinkClosed>()
  /** Resolves with the reason when the connection has ended. Never rejects. */
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

  /** @param onClose is called once, before the streams receive `onLinkLost` */
  constructor(onClose: () => void) {
    this.#onClose = onClose
    this.#greeted.promise.catch(() => {})
  }

  /** Call it once. @throws DeadlineExceeded; GuestLinkLost; GuestProtocolError on another protocol version */
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
  open<T extends LinkStream>(firstFrame: FirstFrame, make: MakeStream<T>, isUrgent = false): T {
    if (this.#isClosed) throw new GuestLinkLost('guest link: already closed')
    const id = this.#streams.takeId()
    const stream = make(id, (frame) => this.#send(frame), this.#streams.wide)
    this.#streams.set(id, stream)
    this.#send(firstFrame(id), isUrgent)
    return stream
  }

  /** Queues every frame that is not urgent (`frame-writer.ts` says why). */
  queueFrames(): void {
    this.#writer?.queueFrames()
  }

  /** Sends the queued frames. */
  sendQueuedFrames(): void {
    this.#writer?.sendQueuedFrames()
  }

  close(): void {
    this.#close({ reason: 'closed', message: 'the link was closed' })
  }

  #greet(socket: Socket): void {
    this.#socket = socket
    this.#writer = new FrameWriter(socket, () => this.#close(NOT_READING))
    socket.on('error', (error) =>
      this.#close({ reason: 'lost', message: `the guest's socket failed: ${error.message}` }),
    )
    socket.on('close', () => this.#close({ reason: 'lost', message: "the guest's socket was closed" }))
    if (socket.destroyed) this.#close({ reason: 'lost', message: "the guest's socket was closed" })
    else socket.write(this.#handshake.hello)
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
      this.#hello = this.#handshake.answered(frame.payload, (hello) => this.#socket?.write(hello))
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
    this.#close(NOT_READING)
  }

  #close(why: GuestLinkClosed): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#writer?.end()
    const error = new GuestLinkLost(`guest link: ${why.message}`)
    this.#greeted.reject(error)
    this.#onClose()
    this.#streams.failAll(error)
    this.#closed.resolve(why)
  }
}
