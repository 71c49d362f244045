import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  encodeFrame,
  encodeMessage,
  FRAME_HEADER_BYTES,
  FRAME_MAX_BYTES,
  FRAME_PAYLOAD_MAX_BYTES,
  FrameDecoder,
  FrameFlag,
  FrameType,
  GuestProtocolError,
  type Frame,
} from './guest-frame.ts'

interface Kept {
  type: number
  flags: number
  stream: number
  payload: number[]
}

const keep = (frame: Frame): Kept => ({ ...frame, payload: [...frame.payload] })

function decode(pieces: Iterable<Uint8Array>): Kept[] {
  const decoder = new FrameDecoder()
  const frames: Kept[] = []
  for (const piece of pieces) decoder.push(piece, (frame) => frames.push(keep(frame)))
  return frames
}

function* cutAt(bytes: Uint8Array, cuts: readonly number[]): Generator<Uint8Array> {
  const places = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].sort((a, b) => a - b)
  let from = 0
  for (const place of [...places, bytes.length]) {
    yield bytes.slice(from, place)
    from = place
  }
}

function errorKindOf(action: () => unknown): unknown {
  try {
    action()
    return undefined
  } catch (error) {
    return (error as Error).constructor
  }
}

const frameFields = fc.record({
  type: fc.integer({ min: 1, max: 255 }),
  flags: fc.integer({ min: 0, max: 255 }),
  stream: fc.integer({ min: 0, max: 0xffff_ffff }),
  payload: fc.uint8Array({ maxLength: 300 }),
})

const encodeFields = (fields: { type: number; flags: number; stream: number; payload: Uint8Array }) =>
  encodeFrame(fields.type, fields.stream, fields.payload, fields.flags)

describe('FrameDecoder', () => {
  it('gives back any frames, cut anywhere, with any padding between', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(frameFields, fc.nat(50)), { maxLength: 12 }),
        fc.array(fc.nat(), { maxLength: 40 }),
        (items, cuts) => {
          const bytes = Buffer.concat(
            items.flatMap(([fields, padding]) => [encodeFields(fields), Buffer.alloc(padding)]),
          )
          const wanted = items.map(([fields]) => keep(fields))
          expect(decode(cutAt(bytes, cuts))).toEqual(wanted)
        },
      ),
    )
  })

  it('takes every payload size up to the greatest', () => {
    const sizes = [0, 1, 2, 7, 8, 9, 255, 256, 4095, 4096, 16_383, FRAME_PAYLOAD_MAX_BYTES]
    const bytes = Buffer.concat(sizes.map((size) => encodeFrame(FrameType.ping, size, Buffer.alloc(size, 0xff))))
    for (const step of [1, 7, 4096, bytes.length]) {
      const cuts = Array.from({ length: Math.ceil(bytes.length / step) }, (_, i) => i * step)
      expect(decode(cutAt(bytes, cuts)).map((frame) => frame.payload.length)).toEqual(sizes)
    }
  })

  it('drops a frame cut at any point and filled up with zeros, and finds the next', () => {
    const cut = encodeFrame(FrameType.stdin, 0x01020304, Buffer.alloc(600, 0xee))
    const next = encodeFrame(FrameType.ping, 7, Buffer.from('next'))
    for (let at = 0; at < cut.length; at++) {
      const frames = decode([cut.subarray(0, at), new Uint8Array(FRAME_MAX_BYTES), next])
      expect(frames).toEqual([{ type: FrameType.ping, flags: 0, stream: 7, payload: [...Buffer.from('next')] }])
    }
  })

  it('refuses a payload over the maximum and a wrong trailer by name', () => {
    const tooLong = encodeFrame(FrameType.ping, 1)
    new DataView(tooLong.buffer).setUint16(2, FRAME_PAYLOAD_MAX_BYTES + 1, true)
    expect(() => decode([tooLong])).toThrow(GuestProtocolError)
    const wrongTrailer = encodeFrame(FrameType.ping, 1)
    wrongTrailer[FRAME_HEADER_BYTES] = 1
    expect(() => decode([wrongTrailer])).toThrow(GuestProtocolError)
  })

  it('throws nothing but its own error on arbitrary bytes', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 2000 }), { maxLength: 20 }), (pieces) => {
        expect([undefined, GuestProtocolError]).toContain(errorKindOf(() => decode(pieces)))
      }),
      { numRuns: 2000 },
    )
  })
})

describe('encodeMessage', () => {
  it('splits into frames that add up to the message, the last one alone without the flag', () => {
    fc.assert(
      fc.property(fc.nat(4 * FRAME_PAYLOAD_MAX_BYTES), (size) => {
        const message = Buffer.alloc(size, 0x5a)
        const frames = decode([encodeMessage(FrameType.run, 3, message, FrameFlag.end)])
        expect(frames.reduce((sum, frame) => sum + frame.payload.length, 0)).toBe(size)
        expect(frames.map((frame) => frame.flags & FrameFlag.more)).toEqual(
          frames.map((_, i) => (i < frames.length - 1 ? FrameFlag.more : 0)),
        )
        expect(frames.every((frame) => (frame.flags & FrameFlag.end) !== 0)).toBe(true)
      }),
      { numRuns: 30 },
    )
  })

  it('refuses a frame that is too long', () => {
    expect(() => encodeFrame(FrameType.ping, 1, new Uint8Array(FRAME_PAYLOAD_MAX_BYTES + 1))).toThrow(RangeError)
  })
})
