/** Ambiguous requests, which two parsers could read differently, must not reach a server. */
import { text } from 'node:stream/consumers'
import { beforeEach, describe, expect, it } from 'vitest'
import { serveEdge } from '../test/serve-edge.ts'

const here = serveEdge()

const smuggled = 'GET /smuggled HTTP/1.1\r\nhost: x\r\n\r\n'
const lines = (...head: string[]) =>
  `POST / HTTP/1.1\r\nhost: ${here.edge.host(here.port)}\r\n${head.join('\r\n')}\r\n\r\n`

describe('a request that two could read as two things', () => {
  let seen: string[]
  beforeEach(() => {
    seen = []
    here.answer = async (request, response) => {
      seen.push(`${request.method} ${request.url} ${await text(request)}`)
      response.end('ok')
    }
  })
  it.each<[string, () => string]>([
    ['a length and chunks', () => `${lines('content-length: 4', 'transfer-encoding: chunked')}0\r\n\r\n${smuggled}`],
    ['two lengths', () => `${lines('content-length: 0', 'content-length: 40')}${smuggled}`],
    ['a list of lengths', () => `${lines('content-length: 0, 40')}${smuggled}`],
    ['a length with a sign', () => `${lines('content-length: +40')}${smuggled}`],
    ['an encoding that is none', () => `${lines('transfer-encoding: xchunked')}0\r\n\r\n${smuggled}`],
    ['chunked, and then something else', () => `${lines('transfer-encoding: chunked, identity')}0\r\n\r\n${smuggled}`],
    ['an encoding behind a blank', () => `${lines('transfer-encoding : chunked')}0\r\n\r\n${smuggled}`],
    ['a folded line', () => `${lines('x: a', ' transfer-encoding: chunked')}0\r\n\r\n${smuggled}`],
    ['lines that end in LF', () => `${lines('content-length: 4').replaceAll('\r\n', '\n')}${smuggled}`],
    ['a size of chunk that is none', () => `${lines('transfer-encoding: chunked')}0x0\r\n\r\n${smuggled}`],
    ['a chunk longer than it says', () => `${lines('transfer-encoding: chunked')}1\r\nab0\r\n\r\n${smuggled}`],
    ['a NUL in a header', () => `${lines('x: a\0b')}${smuggled}`],
    ['two hosts', () => `${lines('host: other.localhost')}${smuggled}`],
    ['no host', () => `GET / HTTP/1.1\r\n\r\n${smuggled}`],
    ['a host in the target that is another', () => lines().replace('POST /', 'POST http://evil.example/') + smuggled],
  ])('is refused: %s', async (_what, bytes) => {
    const answers = await here.edge.raw(bytes(), 'GET / HTTP/1.1\r\nhost: none\r\nconnection: close\r\n\r\n')
    expect(answers).toMatch(/^HTTP\/1.1 400 /)
    expect(seen.filter((each) => each.includes('smuggled') || each.startsWith('POST'))).toEqual([])
  })

  it('is read as what it says where its target names the host itself', async () => {
    const target = `http://${here.edge.host(here.port).toUpperCase()}?q`
    const answers = await here.edge.raw(
      `GET ${target} HTTP/1.1\r\nhost: ${here.edge.host(here.port)}\r\nconnection: close\r\n\r\n`,
    )
    expect(answers).toMatch(/^HTTP\/1.1 200 /)
    expect(seen).toEqual(['GET /?q '])
  })

  it('is refused when its head is too long', async () => {
    expect(await here.edge.raw(lines(`x: ${'x'.repeat(100_000)}`))).toMatch(/^HTTP\/1.1 431 /)
  })
})
