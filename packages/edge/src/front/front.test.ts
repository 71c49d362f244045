/** HTTP/1.1 and HTTP/2, in plain text and over TLS, on one port. */
import { once } from 'node:events'
import { readFile, stat } from 'node:fs/promises'
import { type ClientHttp2Session, connect as connectHttp2, constants, type OutgoingHttpHeaders } from 'node:http2'
import { request as httpsRequest } from 'node:https'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { connect as connectTls } from 'node:tls'
import { describe, expect, it } from 'vitest'
import { EdgeUnderTest, patience } from '../test/edge-under-test.ts'
import { serveEdge } from '../test/serve-edge.ts'

const here = serveEdge()
const authority = () => readFile(join(here.edge.folder, 'authority.pem'))
const hostname = () => here.edge.host(here.port).replace(/:.*/, '')

async function ask(session: ClientHttp2Session, headers: OutgoingHttpHeaders = {}, body?: Buffer | string) {
  const stream = session.request(
    { ':authority': here.edge.host(here.port), ...headers },
    { endStream: body === undefined },
  )
  if (body !== undefined) stream.end(body)
  const trailers: object[] = []
  stream.once('trailers', (these) => trailers.push(these))
  const [answered] = (await patience('an answer').race(once(stream, 'response'))) as [Record<string, unknown>]
  return { headers: answered, body: await text(stream), trailers: trailers[0] }
}

async function overTls(): Promise<ClientHttp2Session> {
  return connectHttp2(`https://${hostname()}:${here.edge.port}`, { ca: await authority(), lookup: toLoopback })
}

const toLoopback = ((_name: string, options: { all?: boolean }, done: (...answer: unknown[]) => void) =>
  // oxlint-disable-next-line promise/prefer-await-to-callbacks
  options.all ? done(null, [{ address: '127.0.0.1', family: 4 }]) : done(null, '127.0.0.1', 4)) as never

describe('HTTP/2', () => {
  it.each([
    ['over TLS', overTls],
    ['in the clear', async () => connectHttp2(`http://127.0.0.1:${here.edge.port}`)],
  ])('%s carries requests and answers as HTTP/1.1 does', async (how, connect) => {
    const session = await connect()
    here.answer = async (request, response) => {
      const { host, cookie, 'x-forwarded-proto': scheme } = request.headers
      response.writeHead(201, [
        ['set-cookie', 'a=1'],
        ['set-cookie', 'b=2'],
        ['connection', 'x-hop'],
        ['x-hop', '1'],
        ['trailer', 'x-sum'],
      ])
      response.write(JSON.stringify([request.method, request.url, host, cookie, scheme, await text(request)]))
      response.addTrailers({ 'x-sum': '9' })
      response.end()
    }
    const answer = await ask(session, { ':method': 'POST', ':path': '/p?q', cookie: ['a=1', 'b=2'] }, 'body')
    const scheme = how === 'over TLS' ? 'https' : 'http'
    expect(JSON.parse(answer.body)).toEqual(['POST', '/p?q', here.edge.host(here.port), 'a=1; b=2', scheme, 'body'])
    expect(answer.headers).toMatchObject({ ':status': 201, 'set-cookie': ['a=1', 'b=2'] })
    expect(answer.headers).not.toHaveProperty('x-hop')
    expect(answer.trailers).toMatchObject({ 'x-sum': '9' })
    session.close()
  })

  it('carries many requests at once, large ones among them, each with its own answer', async () => {
    here.answer = (request, response) => request.pipe(response)
    const session = await overTls()
    const bodies = Array.from({ length: 20 }, (_each, at) => Buffer.alloc(300_000 + at, at))
    const answers = await Promise.all(bodies.map((body) => ask(session, { ':method': 'PUT' }, body)))
    expect(answers.map(({ body }) => body.length)).toEqual(bodies.map((body) => body.length))
    session.close()
  })

  it('ends inside when a visitor resets its request, and shows a break as one', async () => {
    const session = await overTls()
    const left = Promise.withResolvers<void>()
    here.answer = (_request, response) => void response.once('close', left.resolve).write('begun')
    const stream = session.request({ ':authority': here.edge.host(here.port) })
    await once(stream, 'data')
    stream.close(constants.NGHTTP2_CANCEL)
    await patience('the server to be left').race(left.promise)

    here.answer = (_request, response) => {
      response.write('half')
      setImmediate(() => response.destroy())
    }
    const broken = session.request({ ':authority': here.edge.host(here.port) })
    await expect(patience('the break').race(text(broken))).rejects.toThrow('NGHTTP2_INTERNAL_ERROR')
    session.destroy()
  })

  it('refuses a host that is none, or two', async () => {
    const session = await overTls()
    expect((await ask(session, { ':authority': 'x.example' })).headers[':status']).toBe(404)
    expect((await ask(session, { host: 'x.example' })).headers[':status']).toBe(400)
    session.close()
  })
})

const nameOf = async (servername?: string) => {
  const options = { host: '127.0.0.1', port: here.edge.port, rejectUnauthorized: false }
  const socket = connectTls({ ...options, ...(servername !== undefined && { servername }) })
  await patience('a handshake').race(once(socket, 'secureConnect'))
  const { subjectaltname } = socket.getPeerCertificate()
  socket.destroy()
  return subjectaltname
}

describe('TLS', () => {
  it('shows each preview host a certificate of its own, and anybody else the wildcard', async () => {
    expect(await nameOf(hostname())).toBe(`DNS:${hostname()}`)
    expect(await nameOf(hostname().toUpperCase())).toBe(`DNS:${hostname()}`)
    expect(await nameOf('other.localhost')).toBe('DNS:*.localhost, DNS:localhost')
    expect(await nameOf()).toBe('DNS:*.localhost, DNS:localhost')
  })

  it('is trusted by who trusts the authority, whose key is its owner’s', async () => {
    const options = { host: '127.0.0.1', port: here.edge.port, servername: hostname(), agent: false as const }
    const request = httpsRequest({ ...options, ca: await authority(), headers: { host: here.edge.host(here.port) } })
    request.end()
    const [response] = await patience('an answer').race(once(request, 'response'))
    expect(await text(response)).toBe('ok')
    expect((await stat(join(here.edge.folder, 'authority.key'))).mode & 0o777).toBe(0o600)
  })

  it('is of one’s own certificate where that is configured', async () => {
    const { LocalAuthority } = await import('../certificates/local-authority.ts')
    const { writeFile } = await import('node:fs/promises')
    const own = await (await LocalAuthority.open(join(here.edge.folder, 'own'))).issue(['*.p.example.com'])
    const certificate = { cert: join(here.edge.folder, 'c.pem'), key: join(here.edge.folder, 'k.pem') }
    await writeFile(certificate.cert, own.cert)
    await writeFile(certificate.key, own.key)
    const edge = await EdgeUnderTest.start({}, { certificate, suffix: 'p.example.com' })
    const socket = connectTls({
      host: '127.0.0.1',
      port: edge.port,
      servername: '1-x.p.example.com',
      ca: await readFile(join(here.edge.folder, 'own/authority.pem')),
    })
    await patience('a handshake').race(once(socket, 'secureConnect'))
    expect([socket.authorized, socket.getPeerCertificate().subjectaltname]).toEqual([true, 'DNS:*.p.example.com'])
    socket.destroy()
    await edge.stop()
  })
})

describe('a connection', () => {
  it('of an unknown protocol is refused with the reason, and closed', async () => {
    expect(await here.edge.raw('\x01\x02\x03\r\n\r\n')).toMatch(
      /^HTTP\/1.1 400 Bad Request\r\n[^]*\{"error":"bad request"\}$/,
    )
  })

  it('that breaks off in the middle of a handshake does no harm', async () => {
    for (const bytes of ['\x16', '\x16\x03\x01\x02\x00\x01', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'GET / HT']) {
      const socket = here.edge.connect()
      socket.end(bytes, 'latin1')
      socket.resume()
      await patience('the end').race(once(socket, 'close'))
    }
    expect((await here.edge.ask(here.port)).status).toBe(200)
  })
})
