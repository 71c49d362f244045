import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseQueryPath } from './parse-query-path.ts'

const at = (query: string) => `/v1/sandboxes/x/fs?${query}`
const escaped = (bytes: Uint8Array) => [...bytes].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('')

describe('parseQueryPath', () => {
  it.each([
    ['path=/a', '/a'],
    ['path=%2Fa%20b', '/a b'],
    ['path=/a+b%2Bc', '/a b+c'],
    ['path=/100%25', '/100%'],
    ['path=/a%0Ab', '/a\nb'],
    ['path=/a=b%26c', '/a=b&c'],
    ['p%61th=/x&other=1', '/x'],
    ['recursive=1&path=/x', '/x'],
  ])('%s', (query, path) => {
    expect(parseQueryPath(at(query)).toString()).toBe(path)
  })

  it('preserves every byte, percent-encoded or raw', () => {
    const byte = fc.integer({ min: 1, max: 255 })
    fc.assert(
      fc.property(fc.array(byte, { maxLength: 200 }), (tail) => {
        const path = Buffer.from([0x2f, ...tail])
        expect(parseQueryPath(at(`a=1&path=${escaped(path)}`))).toEqual(path)
      }),
    )
    expect(parseQueryPath(at(`path=/${Buffer.from('ÿé').toString('latin1')}`)).toString()).toBe('/ÿé')
  })

  it.each([
    ['', 'path required'],
    ['path', 'path required'],
    ['path=', 'path required'],
    ['Path=/a', 'path required'],
    ['path=a', 'path must be absolute'],
    ['path=%00', 'path must be absolute'],
    ['path=/a%00', 'path must not contain NUL'],
    ['path=/%', 'path must be percent-encoded'],
    ['path=/%4', 'path must be percent-encoded'],
    ['path=/%zz', 'path must be percent-encoded'],
    ['path=/a&path=/b', 'path must be given once'],
    ['path=/a&p%61th=/b', 'path must be given once'],
    [`path=/${'a'.repeat(4095)}`, 'path must be at most 4095 bytes'],
  ])('refuses %s: %s', (query, error) => {
    expect(() => parseQueryPath(at(query))).toThrow(error)
  })

  it('accepts the longest possible path, and reads other parameters by name', () => {
    expect(parseQueryPath(at(`to=/${'a'.repeat(4094)}`), 'to')).toHaveLength(4095)
    expect(() => parseQueryPath(at('path=/a'), 'to')).toThrow('to required')
    expect(() => parseQueryPath('/v1/sandboxes/x/fs')).toThrow('path required')
  })
})
