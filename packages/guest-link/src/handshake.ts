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
  MIN_GUEST_PROTOCOL_VERSION,
} from '@offshoot/contract/guest-frame'

/** What the guest said of itself. */
export interface GuestHello {
  /** The highest that both ends speak. */
  readonly protocolVersion: number
  /** The kernel's boot id. A restored guest has the one of the machine its snapshot was taken from. */
  readonly bootId: string
  /** How many commands may live at once. */
  readonly streamsMax: number
}

const FIXED_BYTES = HELLO_NONCE_BYTES + 4

/**
 * Offers our highest version first. A guest that does not speak it answers with its own and waits for a second HELLO, so that
 * both use the highest version that both speak.
 */
export class Handshake {
  #version: number
  #nonce = randomBytes(HELLO_NONCE_BYTES)
  #tail = Buffer.alloc(0)
  #isFound = false

  constructor(version = GUEST_PROTOCOL_VERSION) {
    this.#version = version
  }

  /** Enough zeros to end any frame, then HELLO. */
  get opening(): Uint8Array {
    const payload = Buffer.alloc(2 + HELLO_NONCE_BYTES)
    payload.writeUInt16LE(this.#version, 0)
    this.#nonce.copy(payload, 2)
    return Buffer.concat([Buffer.alloc(FRAME_MAX_BYTES), encodeFrame(FrameType.hello, 0, payload)])
  }

  /** Looks for HELLO_ACK; undefined while it has not come, then everything from its first byte on. */
  find(bytes: Uint8Array): Uint8Array | undefined {
    if (this.#isFound) return bytes
    const seen = Buffer.concat([this.#tail, bytes])
    const nonceAt = seen.indexOf(this.#nonce)
    if (nonceAt >= FRAME_HEADER_BYTES && seen[nonceAt - FRAME_HEADER_BYTES] === FrameType.helloAck) {
      this.#isFound = true
      return seen.subarray(nonceAt - FRAME_HEADER_BYTES)
    }
    this.#tail = Buffer.from(seen.subarray(-(FRAME_HEADER_BYTES + HELLO_NONCE_BYTES - 1)))
    return undefined
  }

  /**
   * Takes the payload of the frame that was found.
   * @param sayAgain sends another opening, whose answer is to be found and taken as the first
   * @returns undefined when it has been said again
   * @throws GuestProtocolError on a version that this host does not speak
   */
  answered(payload: Uint8Array, sayAgain: (opening: Uint8Array) => void): GuestHello | undefined {
    // What follows an answer that was not the last.
    if (!this.#isFound) return undefined
    const hello = readHelloAck(payload)
    if (hello.protocolVersion === this.#version) return hello
    if (hello.protocolVersion > this.#version) throw new GuestProtocolError('the guest changes its protocol version')
    this.#version = hello.protocolVersion
    this.#nonce = randomBytes(HELLO_NONCE_BYTES)
    this.#tail = Buffer.alloc(0)
    this.#isFound = false
    sayAgain(this.opening)
    return undefined
  }
}

/** @throws GuestProtocolError on a version that this host does not speak */
function readHelloAck(payload: Uint8Array): GuestHello {
  const bytes = Buffer.from(payload)
  if (bytes.length < FIXED_BYTES) throw new GuestProtocolError('bad HELLO_ACK')
  const protocolVersion = bytes.readUInt16LE(HELLO_NONCE_BYTES)
  if (protocolVersion < MIN_GUEST_PROTOCOL_VERSION || protocolVersion > GUEST_PROTOCOL_VERSION) {
    const ours = `${MIN_GUEST_PROTOCOL_VERSION} to ${GUEST_PROTOCOL_VERSION}`
    throw new GuestProtocolError(`the guest speaks protocol version ${protocolVersion}, this host versions ${ours}`)
  }
  return {
    protocolVersion,
    streamsMax: bytes.readUInt16LE(HELLO_NONCE_BYTES + 2),
    bootId: bytes.toString('latin1', FIXED_BYTES, FIXED_BYTES + 36),
  }
}
