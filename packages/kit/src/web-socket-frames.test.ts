import fc from 'fast-check'
import { expect, it } from 'vitest'
import { closeFrame, WebSocketFrames } from './web-socket-frames.ts'

function frame(opcode: number, bytes: number): Buffer {
  const head =
    bytes < 126
      ? [bytes]
      : bytes < 65_536
        ? [126, bytes >> 8, bytes & 255]
        : [127, 0, 0, 0, 0, 0, bytes >> 16, (bytes >> 8) & 255, bytes & 255]
  // The content consists of bytes that look like headers of close frames.
  return Buffer.concat([Buffer.from([0x80 | opcode, ...head]), Buffer.alloc(bytes, 0x88)])
}

it('knows where frames end and whether one closes, wherever the bytes are cut', () => {
  const frames = fc.array(
    fc.record({ opcode: fc.constantFrom(1, 2, 9, 10), bytes: fc.constantFrom(0, 1, 125, 126, 300, 65_535, 70_000) }),
    { maxLength: 5 },
  )
  fc.assert(
    fc.property(frames, fc.boolean(), fc.array(fc.nat(400_000), { maxLength: 8 }), (described, closes, cuts) => {
      const all = Buffer.concat([
        ...described.map(({ opcode, bytes }) => frame(opcode, bytes)),
        ...(closes ? [closeFrame(1000, 'bye')] : []),
      ])
      const follower = new WebSocketFrames()
      const places = [...new Set([0, ...cuts.filter((cut) => cut < all.length), all.length])].sort((a, b) => a - b)
      for (const [i, place] of places.entries()) follower.push(all.subarray(places[i - 1] ?? 0, place))
      expect(follower.isWhole).toBe(true)
      expect(follower.hasClosed).toBe(closes)
    }),
  )
})

it('is not whole inside of a frame', () => {
  const bytes = frame(2, 300)
  const follower = new WebSocketFrames()
  for (const byte of bytes.subarray(0, -1)) {
    follower.push(Buffer.of(byte))
    expect(follower.isWhole).toBe(false)
  }
})
