import fc from 'fast-check'
import { expect, it } from 'vitest'
import { Utf8Chunks } from './utf8-chunks.ts'

function decodePieces(bytes: Buffer, cuts: readonly number[]): string[] {
  const chunks = new Utf8Chunks()
  const places = [0, ...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length].sort((a, b) => a - b)
  return [...places.slice(1).map((place, i) => chunks.push(bytes.subarray(places[i], place))), chunks.end()]
}

it('reassembles text that was cut anywhere, and splits no character', () => {
  // U+FFFD itself is a valid character: the test could not tell it from a decoding error.
  const text = fc.string({ unit: 'grapheme', maxLength: 60 }).filter((value) => !value.includes('\uFFFD'))
  fc.assert(
    fc.property(text, fc.array(fc.nat(), { maxLength: 12 }), (value, cuts) => {
      const pieces = decodePieces(Buffer.from(value), cuts)
      expect(pieces.join('')).toBe(value)
      for (const piece of pieces) expect(piece.isWellFormed() && !piece.includes('\uFFFD')).toBe(true)
    }),
  )
})

it('decodes any bytes, cut anywhere, like one decoding of the whole', () => {
  const nearText = fc.array(
    fc.constantFrom(
      0x41,
      0x80,
      0xbf,
      0xc2,
      0xc3,
      0xe2,
      0x82,
      0xac,
      0xed,
      0xa0,
      0xf0,
      0x9f,
      0x98,
      0xf5,
      0xff,
      0xef,
      0xbb,
    ),
    { maxLength: 40 },
  )
  fc.assert(
    fc.property(nearText, fc.array(fc.nat(), { maxLength: 12 }), (values, cuts) => {
      const bytes = Buffer.from(values)
      expect(decodePieces(bytes, cuts).join('')).toBe(bytes.toString('utf8'))
    }),
    { numRuns: 2000 },
  )
})

it('holds back at most the start of one character, and flushes it at the end', () => {
  const chunks = new Utf8Chunks()
  expect(chunks.push(Buffer.from([0x61, 0xf0, 0x9f, 0x98]))).toBe('a')
  expect(chunks.heldBytes).toBe(3)
  expect(chunks.push(Buffer.from([0x62]))).toBe('\uFFFDb')
  expect(chunks.push(Buffer.from([0xc3]))).toBe('')
  expect(chunks.end()).toBe('\uFFFD')
})
