/**
 * Encodes and decodes frames of the guest channel. No I/O.
 *
 * `guest/PROTOCOL.md` is the specification, `guest/src/protocol.h` the other side. A frame is
 *
 *     type u8 | flags u8 | payload bytes u16 | stream u32 | payload | trailer 0xA5        (little-endian)
 *
 * Type and trailer are never zero, so zeros between frames are padding. If a peer dies within a frame, its successor
 * fills the frame with zeros, and the reader recognises and drops it.
 */

/**
 * The lowest and the highest version of the protocol in this build. Both ends use the highest version that both speak.
 * Guests of an earlier agent continue to run, and wake from checkpoints: {@link MIN_GUEST_PROTOCOL_VERSION} is the
 * version before this one.
 */
export const GUEST_PROTOCOL_VERSION = 6
export const MIN_GUEST_PROTOCOL_VERSION = 5

export const FRAME_HEADER_BYTES = 8
export const FRAME_PAYLOAD_MAX_BYTES = 16_384
export const FRAME_MAX_BYTES = FRAME_HEADER_BYTES + FRAME_PAYLOAD_MAX_BYTES + 1
export const FRAME_TRAILER = 0xa5

/** Maximum bytes of a RUN or REFRESH message, which may span several frames. */
export const GUEST_MESSAGE_MAX_BYTES = 256 * 1024
/** The initial window of each of stdin, stdout and stderr: bytes in flight. */
export const GUEST_WINDOW_BYTES = 64 * 1024
/** The maximum to which the receiver may widen a window. */
export const GUEST_WINDOW_MAX_BYTES = 256 * 1024
/** Maximum variables of a sandbox, and of one command. */
export const GUEST_ENVIRONMENT_MAX_ENTRIES = 1024
/** Maximum arguments of one command. */
export const GUEST_ARGUMENTS_MAX = 16_384
/** Maximum kept commands of a sandbox, and maximum length of their ids and labels. */
export const GUEST_KEPT_MAX = 1024
export const GUEST_KEPT_ID_MAX_BYTES = 64
export const GUEST_KEPT_LABEL_MAX_BYTES = 1024
/** Memory for the output of one kept command. All of them together may use {@link GUEST_KEPT_LOGS_MAX_BYTES}. */
export const GUEST_KEPT_LOG_MIN_BYTES = 64 * 1024
export const GUEST_KEPT_LOG_MAX_BYTES = 16 * 1024 * 1024
export const GUEST_KEPT_LOGS_MAX_BYTES = 64 * 1024 * 1024
export const HELLO_NONCE_BYTES = 16

/** `more`: the next frame continues this message. `end`: last frame in this direction of the stream. */
export const FrameFlag = { more: 1, end: 2 } as const

export const FrameType = {
  hello: 1,
  helloAck: 2,
  ping: 3,
  pong: 4,
  refresh: 5,
  refreshed: 6,
  quiesce: 7,
  quiesced: 8,
  error: 9,
  reset: 10,
  hold: 11,
  held: 12,
  release: 13,
  released: 14,
  settled: 15,
  run: 16,
  stdin: 17,
  credit: 18,
  kill: 19,
  resize: 20,
  attach: 21,
  detach: 22,
  started: 24,
  failed: 25,
  stdout: 26,
  stderr: 27,
  exit: 28,
  stdinClosed: 29,
  attached: 30,
  log: 31,
  kept: 32,
  keptList: 33,
  signal: 34,
  forget: 35,
  done: 36,
  dial: 40,
  connected: 41,
  closed: 42,
  listeners: 43,
  listenerList: 44,
  memory: 45,
  memoryUsage: 46,
  connect: 47,
  listen: 48,
  listening: 49,
  incoming: 50,
  accept: 51,
} as const

/** Options of a RUN: on a terminal, kept after the connection ends, a builtin of the guest. */
export const RunOption = { terminal: 1, keep: 2, builtin: 4, wait: 8, owner: 16 } as const

export const RefreshOption = { keepEnv: 1 } as const

/** Optional fields of a REFRESH. */
export const RefreshField = { mac: 1, address: 2, volumes: 3 } as const

/** The stream that a CREDIT frame is for. */
export const CreditTarget = { stdin: 0, stdout: 1, stderr: 2 } as const

export interface Frame {
  /** A {@link FrameType}, or a number that this build does not know. */
  readonly type: number
  readonly flags: number
  /** 0 for frames that belong to no stream and answer none. */
  readonly stream: number
  /** A view into the decoder's input. Copy it to keep it. */
  readonly payload: Uint8Array
}

/** The peer violated the protocol. The connection cannot be used any more. */
export class GuestProtocolError extends Error {
  override readonly name = 'GuestProtocolError'
}

const empty = new Uint8Array(0)

/**
 * @throws RangeError if the payload is longer than {@link FRAME_PAYLOAD_MAX_BYTES}: split it first, see {@link
 *   encodeMessage}
 */
export function encodeFrame(type: number, stream: number, payload: Uint8Array = empty, flags = 0): Uint8Array {
  if (payload.length > FRAME_PAYLOAD_MAX_BYTES) throw new RangeError(`frame payload of ${payload.length} bytes`)
  const frame = new Uint8Array(FRAME_HEADER_BYTES + payload.length + 1)
  writeFrame(frame, 0, { type, flags, stream, payload })
  return frame
}

/** Encodes a message as one or more frames. All but the last one have the flag `more`. */
export function encodeMessage(type: number, stream: number, message: Uint8Array, flags = 0): Uint8Array {
  return encodeInFrames({ type, stream, payload: message, flags }, flags | FrameFlag.more)
}

/** Encodes bytes of a stream as frames, at least one. Only the last one has `flags`. */
export function encodeBytes(type: number, stream: number, bytes: Uint8Array, flags = 0): Uint8Array {
  return encodeInFrames({ type, stream, payload: bytes, flags }, 0)
}

function encodeInFrames(whole: Frame, flagsBeforeLast: number): Uint8Array {
  const { payload } = whole
  const count = Math.max(1, Math.ceil(payload.length / FRAME_PAYLOAD_MAX_BYTES))
  const frames = new Uint8Array(payload.length + count * (FRAME_HEADER_BYTES + 1))
  let at = 0
  for (let i = 1; i <= count; i++) {
    const part = payload.subarray((i - 1) * FRAME_PAYLOAD_MAX_BYTES, i * FRAME_PAYLOAD_MAX_BYTES)
    at = writeFrame(frames, at, { ...whole, payload: part, flags: i === count ? whole.flags : flagsBeforeLast })
  }
  return frames
}

/** @returns the offset of the next frame */
function writeFrame(to: Uint8Array, at: number, { type, flags, stream, payload }: Frame): number {
  const view = new DataView(to.buffer, to.byteOffset + at, FRAME_HEADER_BYTES)
  view.setUint8(0, type)
  view.setUint8(1, flags)
  view.setUint16(2, payload.length, true)
  view.setUint32(4, stream, true)
  to.set(payload, at + FRAME_HEADER_BYTES)
  const end = at + FRAME_HEADER_BYTES + payload.length
  to[end] = FRAME_TRAILER
  return end + 1
}

/**
 * Finds frames in bytes that may be cut anywhere. Buffers at most {@link FRAME_MAX_BYTES}. One `push` calls `onFrame`
 * for every complete frame. The payload is only valid during that call.
 */
export class FrameDecoder {
  readonly #partial = new Uint8Array(FRAME_MAX_BYTES)
  #partialBytes = 0

  /** @throws GuestProtocolError if the bytes are no frames; the decoder cannot be used afterwards */
  push(bytes: Uint8Array, onFrame: (frame: Frame) => void): void {
    let at = 0
    while (at < bytes.length) {
      if (this.#partialBytes > 0) {
        at += this.#complete(bytes, at, onFrame)
        continue
      }
      if (bytes[at] === 0) {
        at++
        continue
      }
      const frameBytes = frameBytesAt(bytes, at)
      if (frameBytes === undefined || at + frameBytes > bytes.length) {
        this.#partial.set(bytes.subarray(at))
        this.#partialBytes = bytes.length - at
        return
      }
      deliver(bytes, at, frameBytes, onFrame)
      at += frameBytes
    }
  }

  /** Completes a partial frame. @returns the number of bytes that it used */
  #complete(bytes: Uint8Array, at: number, onFrame: (frame: Frame) => void): number {
    const wanted = frameBytesAt(this.#partial.subarray(0, this.#partialBytes), 0) ?? FRAME_HEADER_BYTES
    const taken = Math.min(wanted - this.#partialBytes, bytes.length - at)
    this.#partial.set(bytes.subarray(at, at + taken), this.#partialBytes)
    this.#partialBytes += taken
    const frameBytes = frameBytesAt(this.#partial.subarray(0, this.#partialBytes), 0)
    if (frameBytes !== undefined && this.#partialBytes >= frameBytes) {
      this.#partialBytes = 0
      deliver(this.#partial, 0, frameBytes, onFrame)
    }
    return taken
  }
}

/** The length of the frame that begins at `at`; `undefined` while its header is incomplete. */
function frameBytesAt(bytes: Uint8Array, at: number): number | undefined {
  if (bytes.length - at < FRAME_HEADER_BYTES) return undefined
  const payloadBytes = (bytes[at + 2] ?? 0) | ((bytes[at + 3] ?? 0) << 8)
  if (payloadBytes > FRAME_PAYLOAD_MAX_BYTES) throw new GuestProtocolError(`frame payload of ${payloadBytes} bytes`)
  return FRAME_HEADER_BYTES + payloadBytes + 1
}

function deliver(bytes: Uint8Array, at: number, frameBytes: number, onFrame: (frame: Frame) => void): void {
  const trailer = bytes[at + frameBytes - 1]
  if (trailer === 0) return
  if (trailer !== FRAME_TRAILER) throw new GuestProtocolError(`frame trailer ${trailer}`)
  const view = new DataView(bytes.buffer, bytes.byteOffset + at, FRAME_HEADER_BYTES)
  onFrame({
    type: view.getUint8(0),
    flags: view.getUint8(1),
    stream: view.getUint32(4, true),
    payload: bytes.subarray(at + FRAME_HEADER_BYTES, at + frameBytes - 1),
  })
}
