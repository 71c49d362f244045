/**
 * The first exchange on a new connection. Before it, the guest may be in the middle of a frame that our predecessor did
 * not finish, and bytes meant for that predecessor may still be under way to us.
 */
import { randomBytes } from 'node:crypto'
import {
  encodeFrame,
  FRAME_HEADER_BYTES,
  FRAME_MAX_BYTES,
  FrameType,
  GUEST_PROTOCOL_VERSION,
  GuestProtocolError,
  HELLO_NONCE_BYTES,
} from '@offshoot/contract/guest-frame'

/** What the guest said of itself. */
export interface GuestHello {
  readonly protocolVersion: number
  /** The kernel's boot id. A restored guest has the one of the machine its snapshot was taken from. */
  readonly bootId: string
  /** How many commands may live at once. */
  readonly streamsMax: number
}

const FIXED_BYTES = HELLO_NONCE_BYTES + 4

export class Handshake {
  /** Enough zeros to end any frame, then HELLO. */
  readonly opening: Uint8Array
  readonly #nonce = randomBytes(HELLO_NONCE_BYTES)
  #tail = Buffer.alloc(0)

  constructor(version = GUEST_PROTOCOL_VERSION) {
    const payload = Buffer.alloc(2 + HELLO_NONCE_BYTES)
    payload.writeUInt16LE(version, 0)
    this.#nonce.copy(payload, 2)
    this.opening = Buffer.concat([Buffer.alloc(FRAME_MAX_BYTES), encodeFrame(FrameType.hello, 0, payload)])
  }

  /** Looks for HELLO_ACK; undefined while it has not come, then everything from its first byte on. */
  find(bytes: Uint8Array): Uint8Array | undefined {
    const seen = Buffer.concat([this.#tail, bytes])
    const nonceAt = seen.indexOf(this.#nonce)
    if (nonceAt >= FRAME_HEADER_BYTES && seen[nonceAt - FRAME_HEADER_BYTES] === FrameType.helloAck) {
      return seen.subarray(nonceAt - FRAME_HEADER_BYTES)
    }
    this.#tail = Buffer.from(seen.subarray(-(FRAME_HEADER_BYTES + HELLO_NONCE_BYTES - 1)))
    return undefined
  }
}

/** @throws GuestProtocolError on a version that is not ours. */
export function readHelloAck(payload: Uint8Array): GuestHello {
  const bytes = Buffer.from(payload)
  if (bytes.length < FIXED_BYTES) throw new GuestProtocolError('bad HELLO_ACK')
  const protocolVersion = bytes.readUInt16LE(HELLO_NONCE_BYTES)
  if (protocolVersion !== GUEST_PROTOCOL_VERSION) {
    throw new GuestProtocolError(
      `the guest speaks protocol version ${protocolVersion}, this host ${GUEST_PROTOCOL_VERSION}: bake its template again`,
    )
  }
  return {
    protocolVersion,
    streamsMax: bytes.readUInt16LE(HELLO_NONCE_BYTES + 2),
    bootId: bytes.toString('latin1', FIXED_BYTES, FIXED_BYTES + 36),
  }
}
