/** A host that sends any bytes that a test chooses, and collects the frames of the guest. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import {
  encodeFrame,
  FrameDecoder,
  FrameType,
  GUEST_PROTOCOL_VERSION,
  type Frame,
} from '@offshoot/contract/guest-frame'
import { Handshake } from '../handshake.ts'
import { deadlineFor } from './host-guest.ts'

export class RawHost {
  readonly frames: Frame[] = []
  readonly #socket: Socket
  readonly #decoder = new FrameDecoder()
  #handshake: Handshake | undefined
  #wake = Promise.withResolvers<void>()

  private constructor(socket: Socket) {
    this.#socket = socket
    socket.on('error', () => {})
    socket.on('data', (bytes) => {
      const framed = this.#handshake === undefined ? bytes : this.#handshake.find(bytes)
      if (framed === undefined) return
      this.#handshake = undefined
      this.#decoder.push(framed, (frame) => this.frames.push({ ...frame, payload: Uint8Array.from(frame.payload) }))
      this.#wake.resolve()
      this.#wake = Promise.withResolvers()
    })
  }

  static async connect(path: string): Promise<RawHost> {
    const socket = connect({ path })
    await once(socket, 'connect')
    return new RawHost(socket)
  }

  /** Sends HELLO. HELLO_ACK is then the first of {@link frames}. */
  async hello(version = GUEST_PROTOCOL_VERSION): Promise<Frame> {
    this.frames.length = 0
    this.#handshake = new Handshake(version)
    this.write(this.#handshake.hello)
    return this.expect(FrameType.helloAck)
  }

  write(bytes: Uint8Array): void {
    this.#socket.write(bytes)
  }

  send(type: number, stream: number, payload: Uint8Array = new Uint8Array(0), flags = 0): void {
    this.write(encodeFrame(type, stream, payload, flags))
  }

  /** Waits for the first frame of this type. */
  async expect(type: number): Promise<Frame> {
    const deadline = deadlineFor(`frame of type ${type}`)
    for (;;) {
      const found = this.frames.find((frame) => frame.type === type)
      if (found !== undefined) return found
      await deadline.race(this.#wake.promise)
    }
  }

  /** Closes the connection after all written bytes are sent. */
  async die(): Promise<void> {
    await new Promise<void>((resolve) => this.#socket.end(resolve))
    this.#socket.destroy()
  }
}
