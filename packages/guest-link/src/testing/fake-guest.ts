/** An untrusted guest: it answers with any bytes that a test chooses. */
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  encodeFrame,
  FrameDecoder,
  FrameType,
  GUEST_PROTOCOL_VERSION,
  type Frame,
} from '@offshoot/contract/guest-frame'

/** Is called with every frame of the host. */
export type Answer = (frame: Frame, socket: Socket) => void

export class FakeGuest {
  readonly socketPath: string
  readonly #folder: string
  readonly #server: Server
  readonly #sockets = new Set<Socket>()

  private constructor(folder: string, answer: Answer) {
    this.#folder = folder
    this.socketPath = join(folder, 'guest.sock')
    this.#server = createServer((socket) => {
      this.#sockets.add(socket)
      const decoder = new FrameDecoder()
      socket.on('error', () => {})
      socket.on('data', (bytes) => decoder.push(bytes, (frame) => answer(frame, socket)))
    })
  }

  static async start(answer: Answer): Promise<FakeGuest> {
    const guest = new FakeGuest(await mkdtemp(join(tmpdir(), 'offshoot-fake-')), answer)
    guest.#server.listen(guest.socketPath)
    await once(guest.#server, 'listening')
    return guest
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
    this.#server.close()
    await rm(this.#folder, { recursive: true, force: true })
  }
}

/** The answer of a correct guest to HELLO. */
export function helloAck(hello: Frame, version = GUEST_PROTOCOL_VERSION): Uint8Array {
  const payload = Buffer.alloc(20 + 36, '0')
  payload.set(hello.payload.subarray(2, 18))
  payload.writeUInt16LE(version, 16)
  payload.writeUInt16LE(256, 18)
  return encodeFrame(FrameType.helloAck, 0, payload)
}
