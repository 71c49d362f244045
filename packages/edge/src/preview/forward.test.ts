/** Conformance tests of the proxy against real servers. */
import { once } from 'node:events'
import { type IncomingMessage, request as httpRequest } from 'node:http'
import { text } from 'node:stream/consumers'
import { describe, expect, it } from 'vitest'
import { patience } from '../test/edge-under-test.ts'
import { serveEdge } from '../test/serve-edge.ts'

const here = serveEdge()

describe('a request', () => {
  it.each(['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'PROPFIND', 'QUERY'])(
    '%s arrives as it was made',
    async (method) => {
      here.answer = async (request, response) =>
        response.end(
          JSON.stringify([
            request.method,
            request.url,
            await text(request),
            request.headers['x-two'],
            request.headers.host,
          ]),
        )
      const body = method === 'GET' ? '' : 'a body'
      const path = '/a%20path/%2e%2e/?q=1&q=%ff#'.replace('#', '')
      const { body: told } = await here.edge.ask(here.port, path, {
        method,
        body,
        headers: { 'x-two': ['1', '2'] as unknown as string, 'content-length': String(body.length) },
      })
      expect(JSON.parse(told)).toEqual([method, path, body, '1, 2', here.edge.host(here.port)])
    },
  )

  it('gets the caller’s address and protocol, also if the visitor sends others', async () => {
    here.answer = (request, response) => response.end(JSON.stringify(request.headers))
    const lies = {
      'x-forwarded-for': '6.6.6.6',
      'x-forwarded-proto': 'https',
      'x-real-ip': '6.6.6.6',
      forwarded: 'for=6.6.6.6',
    }
    const headers = JSON.parse((await here.edge.ask(here.port, '/', { headers: lies })).body)
    expect(headers).toMatchObject({
      'x-forwarded-for': '127.0.0.1',
      'x-forwarded-proto': 'http',
      'x-forwarded-host': here.edge.host(here.port),
    })
    expect(JSON.stringify(headers)).not.toContain('6.6.6.6')
  })

  it('brings no credential of ours, and all others', async () => {
    here.answer = (request, response) => response.end(JSON.stringify([request.url, request.headers]))
    const claims = Buffer.from(JSON.stringify({ aud: 'offshoot', sub: 'x' })).toString('base64url')
    for (const authorization of ['Bearer ofs_12345678_secret', `Bearer eyJhbGciOiJFZERTQSJ9.${claims}.sig`]) {
      const headers = { authorization, cookie: 'a=1; better-auth.session_token=s3cret; b=2', 'x-offshoot-org': 'o' }
      const { body } = await here.edge.ask(here.port, '/?a=1&access_token=ofs_12345678_secret&b=2', { headers })
      expect(body).not.toMatch(/secret|s3cret|eyJ|x-offshoot/)
      expect(JSON.parse(body)[0]).toBe('/?a=1&b=2')
      expect(JSON.parse(body)[1].cookie).toBe('a=1; b=2')
    }
    const others = { authorization: 'Basic dTpw', cookie: 'sid=1' }
    expect(
      JSON.parse((await here.edge.ask(here.port, '/?access_token=theirs', { headers: others })).body),
    ).toMatchObject(['/?access_token=theirs', others])
  })

  it('leaves behind what belongs to the visitor’s connection', async () => {
    here.answer = (request, response) => response.end(JSON.stringify(request.headers))
    const headers = {
      connection: 'keep-alive, X-Mine',
      'x-mine': '1',
      'keep-alive': 'timeout=5',
      te: 'trailers',
      'proxy-authorization': 'x',
    }
    const told = JSON.parse((await here.edge.ask(here.port, '/', { headers })).body)
    for (const name of ['x-mine', 'keep-alive', 'te', 'proxy-authorization']) expect(told).not.toHaveProperty(name)
  })

  it('waits for 100 Continue, and is refused without it', async () => {
    here.answer = async (request, response) => response.end(await text(request))
    const ask = async (to: number) => {
      const headers = { host: here.edge.host(to), expect: '100-continue', 'content-length': '4' }
      const request = httpRequest({ host: '127.0.0.1', port: here.edge.port, method: 'PUT', headers, agent: false })
      let hasContinued = false
      request.once('continue', () => {
        hasContinued = true
        request.end('body')
      })
      request.flushHeaders()
      const [response] = (await patience('an answer').race(once(request, 'response'))) as [IncomingMessage]
      const told = [hasContinued, response.statusCode, await text(response)] as const
      request.destroy()
      return told
    }
    expect(await ask(here.port)).toEqual([true, 200, 'body'])
    expect((await ask(1)).slice(0, 2)).toEqual([false, 502])
  })

  it('arrives whole, in chunks or of a length', async () => {
    here.answer = async (request, response) => response.end(`<${await text(request)}>`)
    const head = `POST / HTTP/1.1\r\nhost: ${here.edge.host(here.port)}\r\nconnection: close\r\n`
    const chunked = await here.edge.raw(
      `${head}transfer-encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n2\r\nde\r\n0\r\nx-trailer: 1\r\n\r\n`,
    )
    expect(chunked).toContain('<abcde>')
    expect(await here.edge.raw(`${head}content-length: 5\r\n\r\nabcde`)).toContain('<abcde>')
    expect(await here.edge.raw(`${head}content-length: 0\r\n\r\n`)).toContain('<>')
  })
})

describe('an answer', () => {
  it('arrives as it was given: status, reason, repeated headers, trailers', async () => {
    here.answer = (_request, response) => {
      response.writeHead(299, 'Rather Fine', [
        ['Set-Cookie', 'a=1'],
        ['set-cookie', 'b=2'],
        ['X-Odd', 'caf\u00e9'],
        ['trailer', 'x-sum'],
      ])
      response.write('one')
      response.addTrailers({ 'x-sum': '3' })
      response.end()
    }
    const response = await here.edge.open(here.port)
    expect([response.statusCode, response.statusMessage]).toEqual([299, 'Rather Fine'])
    expect(response.headers['set-cookie']).toEqual(['a=1', 'b=2'])
    expect(response.headers['x-odd']).toBe('caf\u00e9')
    expect(await text(response)).toBe('one')
    expect(response.trailers).toEqual({ 'x-sum': '3' })
  })

  it('has no body where HTTP knows none', async () => {
    here.answer = (request, response) => {
      const status = Number(request.url?.slice(1))
      response.writeHead(status, status === 204 ? {} : { 'content-length': 5, etag: '"e"' })
      response.end(request.method === 'HEAD' || status !== 200 ? undefined : 'hello')
    }
    const head = await here.edge.ask(here.port, '/200', { method: 'HEAD' })
    expect([head.status, head.headers['content-length'], head.body]).toEqual([200, '5', ''])
    expect(await here.edge.ask(here.port, '/204')).toMatchObject({ status: 204, body: '' })
    expect(await here.edge.ask(here.port, '/304')).toMatchObject({ status: 304, body: '' })
  })

  it('of unknown length and protocol 1.0 ends with its connection', async () => {
    const old = await here.saying('HTTP/1.0 200 OK\r\n\r\nall there is')
    expect(await here.edge.ask(old)).toMatchObject({ status: 200, body: 'all there is' })
  })

  it('keeps a cookie to its own host', async () => {
    here.answer = (_request, response) =>
      response.setHeader('set-cookie', 'a=1; Path=/; Domain=.localhost; Secure').end()
    expect((await here.edge.ask(here.port)).headers['set-cookie']).toEqual(['a=1; Path=/; Secure'])
  })

  it('streams: a record arrives before the next is made', async () => {
    let more: (() => void) | undefined
    here.answer = (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.flushHeaders()
      more = () => response.write('data: 1\n\n')
    }
    const response = await here.edge.open(here.port)
    for (let round = 0; round < 3; round++) {
      more?.()
      expect(String(await patience('a record').race(once(response, 'data')))).toBe('data: 1\n\n')
    }
    response.destroy()
  })

  it('that breaks off is seen to be not whole', async () => {
    const cut = await here.saying('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nonly this')
    await expect(here.edge.ask(cut)).rejects.toThrow('aborted')
    const cutChunk = await here.saying('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nonly')
    await expect(here.edge.ask(cutChunk)).rejects.toThrow('aborted')
  })

  it.each([
    ['nothing', ''],
    ['no HTTP', 'SSH-2.0-dropbear\r\n'],
    ['two lengths', 'HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab'],
    [
      'a length and chunks',
      'HTTP/1.1 200 OK\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n',
    ],
    ['a head without end', `HTTP/1.1 200 OK\r\nx: ${'x'.repeat(200_000)}`],
    ['a header with a line in it', 'HTTP/1.1 200 OK\r\nx: a\rb\r\n\r\n'],
    ['a status that is none', 'HTTP/1.1 99 Odd\r\ncontent-length: 0\r\n\r\n'],
  ])('that is %s becomes 502', async (_what, bytes) => {
    const wrong = await here.saying(bytes)
    const { status, body, headers } = await here.edge.ask(wrong)
    expect([status, headers['content-type']]).toEqual([502, 'text/html; charset=utf-8'])
    expect(body).toContain(`port ${wrong}`)
  })

  it('may come before the upload is over, which is then not waited for', async () => {
    here.answer = (_request, response) => response.writeHead(413, { connection: 'close' }).end('too much')
    const request = httpRequest({
      host: '127.0.0.1',
      port: here.edge.port,
      method: 'POST',
      headers: { host: here.edge.host(here.port) },
      agent: false,
    })
    request.on('error', () => undefined)
    request.write(Buffer.alloc(100_000))
    const [response] = (await patience('an answer').race(once(request, 'response'))) as [IncomingMessage]
    expect([response.statusCode, await text(response)]).toEqual([413, 'too much'])
    request.destroy()
  })
})
