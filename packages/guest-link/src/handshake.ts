/**
 * The first exchange on a new connection. The previous host may have died in the middle of a frame, which the guest
 * still expects to end. Bytes that the guest sent to that host may still arrive here.
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

/** The content of HELLO_ACK. */
export interface GuestHello {
  /** The highest version that both ends speak. */
  readonly protocolVersion: number
  /** The kernel's boot id. A restored guest has the boot id of the VM in the snapshot. */
  readonly bootId: string
  /** Maximum number of live commands. */
  readonly streamsMax: number
}

const FIXED_BYTES = HELLO_NONCE_BYTES + 4

/**
 * Offers the host's highest version first. A guest that does not speak it answers with its own highest version and
 * waits for a second HELLO. So both use the highest version that both speak.
 */
export class Handshake {
  #version: number
  #nonce = randomBytes(HELLO_NONCE_BYTES)
  #tail = Buffer.alloc(0)
  #isFound = false

  constructor(version = GUEST_PROTOCOL_VERSION) {
    this.#version = version
  }

  /** Zeros that end any unfinished frame, then HELLO. */
  get hello(): Uint8Array {
    const payload = Buffer.alloc(2 + HELLO_NONCE_BYTES)
    payload.writeUInt16LE(this.#version, 0)
    this.#nonce.copy(payload, 2)
    return Buffer.concat([Buffer.alloc(FRAME_MAX_BYTES), encodeFrame(FrameType.hello, 0, payload)])
  }

  /** Searches for HELLO_ACK. Returns undefined until it has arrived, then all bytes from its first one on. */
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
   * Takes the payload of the HELLO_ACK that was found.
   * @param sendAgain sends a second HELLO with the guest's version; {@link find} then searches for its answer
   * @returns undefined when it called `sendAgain`
   * @throws GuestProtocolError on a version that this host does not speak
   */
  answered(payload: Uint8Array, sendAgain: (hello: Uint8Array) => void): GuestHello | undefined {
    // A frame after the first HELLO_ACK, before the answer to the second HELLO.
    if (!this.#isFound) return undefined
    const hello = readHelloAck(payload)
    if (hello.protocolVersion === this.#version) return hello
    if (hello.protocolVersion > this.#version) throw new GuestProtocolError('the guest changed its protocol version')
    this.#version = hello.protocolVersion
    this.#nonce = randomBytes(HELLO_NONCE_BYTES)
    this.#tail = Buffer.alloc(0)
    this.#isFound = false
    sendAgain(this.hello)
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
