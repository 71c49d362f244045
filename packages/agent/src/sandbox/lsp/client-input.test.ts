import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { MessageSplitter } from './base-protocol.ts'
import { ClientInput } from './client-input.ts'

const asJson = fc
  .record({ jsonrpc: fc.constant('2.0'), method: fc.string({ unit: 'binary' }) })
  .map((value) => JSON.stringify(value))

describe('the input of a client', () => {
  it('reaches the server as the same bytes in either framing', () => {
    fc.assert(
      fc.property(fc.array(asJson, { minLength: 1 }), fc.boolean(), (messages, isBinary) => {
        const [json, base] = [new ClientInput(), new ClientInput()]
        const framed = Buffer.concat(messages.map((message) => json.take(Buffer.from(message), isBinary)))
        expect(json.framing).toEqual({ kind: 'json', isBinary })
        expect(new MessageSplitter().push(framed).map(({ content }) => content.toString())).toEqual(messages)
        // Byte by byte: the most fragmented input possible.
        const passed = [...framed].map((byte) => base.take(Buffer.of(byte), isBinary))
        expect(Buffer.concat(passed)).toEqual(framed)
        expect(base.framing).toEqual({ kind: 'base', isBinary })
      }),
      { numRuns: 50 },
    )
  })

  it('has the framing of its first non-empty frame', () => {
    const input = new ClientInput()
    expect(input.take(Buffer.alloc(0), true)).toHaveLength(0)
    expect(input.framing).toBeUndefined()
    input.take(Buffer.from(' \n[{}]'), false)
    expect(input.framing).toEqual({ kind: 'json', isBinary: false })
    expect(() => input.take(Buffer.from('Content-Length: 2\r\n\r\n{}'), false)).toThrow('not a JSON message')
  })

  it('is refused if it is in neither framing', () => {
    expect(() => new ClientInput().take(Buffer.from('"text"'), false)).toThrow('not a header')
  })
})
