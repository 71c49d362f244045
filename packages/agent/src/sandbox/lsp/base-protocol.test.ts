import { MAX_LSP_MESSAGE_BYTES } from '@offshoot/contract/lsp'
import { withinBudget } from '@offshoot/kit/test/within-budget'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { BaseProtocol, BaseProtocolError, MessageSplitter } from './base-protocol.ts'

const TYPE = 'Content-Type: application/vscode-jsonrpc; charset=utf-8\r\n'
const framed = (content: string, before = '', after = '') =>
  `${before}Content-Length: ${Buffer.byteLength(content)}\r\n${after}\r\n${content}`

/** Some contents look like headers. */
const contents = fc.string({ unit: 'binary', minLength: 1 }).map((text) => `${text}\r\n\r\nContent-Length: 5`)
const messages = fc.array(fc.tuple(contents, fc.constantFrom('', TYPE), fc.constantFrom('', TYPE)), { minLength: 1 })

function cut(bytes: Buffer, places: readonly number[]): Buffer[] {
  const at = [0, ...places.map((place) => place % bytes.length).toSorted((a, b) => a - b), bytes.length]
  return at.slice(1).map((end, index) => bytes.subarray(at[index], end))
}

const refusalOf = (text: string, pieces: readonly number[] = []): BaseProtocolError => {
  const protocol = new BaseProtocol()
  try {
    for (const piece of cut(Buffer.from(text, 'latin1'), pieces)) protocol.push(piece)
  } catch (error) {
    if (error instanceof BaseProtocolError) return error
    throw error
  }
  throw new Error(`taken: ${text}`)
}

describe('the base protocol', () => {
  it('refuses a header of many spaces with an invalid character in linear time', () => {
    const wrong = `A:${' '.repeat(4000)}\u0001\r\nB`
    expect(withinBudget(() => refusalOf(wrong).message)).toBe(`not a header: "A:${' '.repeat(38)}"`)
  })

  it('accepts a length with spaces and tabs around it', () => {
    expect(new BaseProtocol().push(Buffer.from('Content-Length:\t 2 \t\r\n\r\n{}'))).toHaveLength(1)
  })

  it('splits the same messages however the bytes are chunked', () => {
    fc.assert(
      fc.property(messages, fc.array(fc.nat()), (all, places) => {
        const splitter = new MessageSplitter()
        const wanted = all.map(([content, before, after]) => ({ content, bytes: framed(content, before, after) }))
        const stream = Buffer.from(wanted.map(({ bytes }) => bytes).join(''))
        const found = cut(stream, places).flatMap((piece) => splitter.push(piece))
        const shown = found.map(({ bytes, content }) => ({ content: content.toString(), bytes: bytes.toString() }))
        expect(shown).toEqual(wanted)
      }),
    )
  })

  it.each([
    ['{"jsonrpc":"2.0"}', 'not a header: "{\\"jsonrpc\\":\\"2.0\\"}"'],
    ['hello world', 'not a header: "hello world"'],
    ['\r\n\r\n', 'not a header: ""'],
    ['Content-Length: 5\n\n', 'not a header: "Content-Length: 5\\n\\n"'],
    ['Content-Type: x\r\n\r\n', 'no Content-Length'],
    ['Content-Length: 0\r\n\r\n', 'bad Content-Length'],
    ['Content-Length: -5\r\n\r\n', 'bad Content-Length'],
    ['Content-Length: 5e1\r\n\r\n', 'bad Content-Length'],
    ['Content-Length: 5\r\ncontent-length: 6\r\n\r\n', 'bad Content-Length'],
    [`Content-Length: 5\r\nX: ${'x'.repeat(5000)}`, 'headers over 4096 bytes'],
    ['x'.repeat(5000), 'headers over 4096 bytes'],
    [`Content-Length: ${MAX_LSP_MESSAGE_BYTES + 1}\r\n\r\n`, `message over ${MAX_LSP_MESSAGE_BYTES} bytes`],
    ['Content-Length: 999999999999999\r\n\r\n', `message over ${MAX_LSP_MESSAGE_BYTES} bytes`],
  ])('refuses %j, also in pieces', (text, refusal) => {
    expect(refusalOf(text).message).toBe(refusal)
    fc.assert(
      fc.property(fc.array(fc.nat()), (places) => {
        // In chunks the error may be detected earlier, with less of the line in its text.
        expect(refusalOf(text, places).message.slice(0, 14)).toBe(refusal.slice(0, 14))
      }),
      { numRuns: 20 },
    )
  })

  it('never reports an end beyond its input', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 6000 }), fc.boolean(), (bytes, hasHeader) => {
        const protocol = new BaseProtocol()
        const given = Buffer.concat([Buffer.from(hasHeader ? 'Content-Length: 7\r\n\r\n' : ''), bytes])
        try {
          for (const { end } of protocol.push(given)) expect(end).toBeLessThanOrEqual(given.length)
        } catch (error) {
          expect(error).toBeInstanceOf(BaseProtocolError)
        }
      }),
    )
  })
})
