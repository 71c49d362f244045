import { once } from 'node:events'
import { type IncomingMessage, request as httpRequest } from 'node:http'
import { connect } from 'node:net'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { FakeAgent } from '../../test/fake-agent.ts'
import { call, eventually, Harness, type RunningControl, type Tenant } from '../../test/harness.ts'

const MIB = 1024 ** 2

let harness: Harness
let agent: FakeAgent
let control: RunningControl
/** A second control process, which waits only 300 ms for a body. */
let impatient: RunningControl
let alice: Tenant
let path: string

beforeAll(async () => {
  agent = await FakeAgent.start()
  harness = await Harness.start()
  control = await harness.control([agent])
  impatient = await harness.control([agent], { body_silence_ms: 300 })
  alice = await harness.tenant(control, 'alice')
  const created = await call(control.url, 'POST', '/v1/sandboxes', { token: alice.key, body: { template: 'base' } })
  path = `/v1/sandboxes/${created.body.id}/fs?path=/a%FF+b`
})

afterEach(() => {
  agent.onOperation = () => false
})

afterAll(async () => {
  await harness.stop()
  await agent.kill()
})

function put(url: string, headers: Record<string, string> = {}) {
  return httpRequest(url + path, {
    method: 'PUT',
    agent: false,
    headers: { authorization: `Bearer ${alice.key}`, ...headers },
  })
}

/** A stream of `mib` chunks of one MiB each, which counts the chunks that were read. */
function source(mib: number): { readonly stream: Readable; readonly taken: () => number } {
  const chunk = Buffer.alloc(MIB, 'x')
  let taken = 0
  const chunks = function* () {
    for (; taken < mib; taken += 1) yield chunk
  }
  return { stream: Readable.from(chunks()), taken: () => taken }
}

function countBytes(): Promise<{ request: IncomingMessage; bytes: number }> {
  const { promise, resolve } = Promise.withResolvers<{ request: IncomingMessage; bytes: number }>()
  agent.onOperation = (request, response) => {
    let bytes = 0
    request.on('data', (chunk: Buffer) => (bytes += chunk.length))
    request.once('end', () => {
      resolve({ request, bytes })
      response.writeHead(200, { 'content-type': 'application/json' }).end('{"bytes":1}')
    })
    return true
  }
  return promise
}

describe('an upload', () => {
  it.each([
    ['chunked', {}],
    ['of an announced length', { 'content-length': String(8 * MIB) }],
    ['that calls itself JSON', { 'content-type': 'application/json' }],
    ['that calls itself a form', { 'content-type': 'multipart/form-data; boundary=x' }],
  ])('%s passes whole, with its path as it came', async (_kind, headers) => {
    const counted = countBytes()
    const request = put(control.url, headers)
    const answered = once(request, 'response')
    await pipeline(source(8).stream, request)
    const [response] = (await answered) as [IncomingMessage]
    expect([response.statusCode, await text(response)]).toEqual([200, '{"bytes":1}'])
    const { request: asked, bytes } = await counted
    expect([bytes, asked.url]).toEqual([8 * MIB, path])
    expect(asked.headers).toMatchObject(headers)
  })

  it('of nothing is an upload', async () => {
    const counted = countBytes()
    const request = put(control.url, { 'content-length': '0' })
    request.end()
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    response.resume()
    expect([response.statusCode, (await counted).bytes]).toEqual([200, 0])
  })

  it('is held back while the agent does not take it', { tags: ['faults'] }, async () => {
    const { promise: begun, resolve } = Promise.withResolvers<IncomingMessage>()
    agent.onOperation = (request, response) => {
      resolve(request)
      request.once('end', () => response.end('{}'))
      return true
    }
    const { stream, taken } = source(256)
    const request = put(control.url)
    const answered = once(request, 'response')
    const sent = pipeline(stream, request)
    const asked = await begun
    let before = -1
    await eventually(async () => {
      const stands = taken() === before
      before = taken()
      await new Promise((resolve) => setTimeout(resolve, 200))
      return stands
    })
    expect(taken()).toBeLessThan(64)
    asked.resume()
    await sent
    const [response] = (await answered) as [IncomingMessage]
    response.resume()
    expect([response.statusCode, taken()]).toEqual([200, 256])
  })

  it('is ended at the agent when its caller hangs up in the middle', async () => {
    const { promise: ended, resolve } = Promise.withResolvers<boolean>()
    const { promise: begun, resolve: begin } = Promise.withResolvers<void>()
    agent.onOperation = (request) => {
      request.once('data', () => begin()).on('error', () => undefined)
      request.once('close', () => resolve(request.complete))
      return true
    }
    const request = put(control.url, { 'content-length': String(8 * MIB) })
    request.on('error', () => undefined)
    request.write(Buffer.alloc(MIB))
    await begun
    request.destroy()
    expect(await ended).toBe(false)
  })

  it('that is refused early may be sent to its end: the answer is still there', async () => {
    agent.onOperation = (request, response) => {
      request.once('data', () =>
        response.writeHead(413, { 'content-type': 'application/json' }).end('{"error":"too large"}'),
      )
      return true
    }
    const { port } = new URL(control.url)
    const socket = connect({ port: Number(port), host: '127.0.0.1' })
    const size = 64 * MIB
    socket.write(
      `PUT ${path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${alice.key}\r\ncontent-length: ${size}\r\n\r\n`,
    )
    const chunk = Buffer.alloc(MIB)
    for (let sent = 0; sent < size; sent += MIB) {
      if (!socket.write(chunk)) await once(socket, 'drain')
    }
    // Read the connection only now: it has the refusal, then the answer to the next request.
    socket.write('GET /version HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n')
    const answers = await text(socket)
    expect(answers).toMatch(/^HTTP\/1\.1 413 /)
    expect(answers).toContain('{"error":"too large"}')
    expect(answers).toContain('HTTP/1.1 200 OK')
  })

  it.each([
    ['of nobody', 'ofs_no', 401],
    ['too large', undefined, 413],
  ])('that wants its connection closed may be sent to its end, too: %s', async (_kind, token = alice.key, status) => {
    const { port } = new URL(control.url)
    const socket = connect({ port: Number(port), host: '127.0.0.1' })
    const size = 48 * MIB
    const head = `authorization: Bearer ${token}\r\nconnection: close\r\ncontent-length: ${size}`
    socket.write(`POST /v1/sandboxes HTTP/1.1\r\nhost: x\r\n${head}\r\n\r\n`)
    const chunk = Buffer.alloc(MIB)
    for (let sent = 0; sent < size; sent += MIB) {
      if (!socket.write(chunk)) await once(socket, 'drain')
    }
    expect(await text(socket)).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
  })

  it.each([
    ['of nobody', { authorization: 'Bearer ofs_no' }, 401],
    ['announced to be too large', { 'content-length': String(1024 * MIB + 1) }, 413],
  ])('that waits for 100 Continue is refused without it: %s', async (_kind, headers, status) => {
    const request = put(control.url, { expect: '100-continue', 'content-length': '5', ...headers })
    let isContinued = false
    request.on('continue', () => (isContinued = true))
    request.flushHeaders()
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    response.resume()
    await once(response, 'close')
    expect([response.statusCode, response.headers.connection, isContinued]).toEqual([status, 'close', false])
  })

  it('cut off because its agent ends is answered so, not as a fault', async () => {
    agent.onOperation = (request, response) => {
      request.once('data', () =>
        response.writeHead(503, { 'content-type': 'application/json' }).end('{"error":"shutting down"}'),
      )
      return true
    }
    const request = put(control.url)
    request.end('x')
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    expect([response.statusCode, await text(response)]).toEqual([503, '{"error":"shutting down"}'])
  })

  it.each([
    ['announced and not sent', 0],
    ['that stops in the middle', 70_000],
  ])('%s is answered 408, and the connection closed', async (_kind, bytes) => {
    let isEnded = false
    agent.onOperation = (request) => {
      request.on('error', () => undefined).once('close', () => (isEnded = true))
      request.resume()
      return true
    }
    const request = put(impatient.url, { 'content-length': String(MIB) })
    request.flushHeaders()
    if (bytes > 0) request.write(Buffer.alloc(bytes))
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    request.on('error', () => undefined)
    expect([response.statusCode, response.headers.connection]).toEqual([408, 'close'])
    expect(JSON.parse(await text(response))).toEqual({ error: 'request body did not arrive in time' })
    if (bytes > 0) await eventually(async () => isEnded)
  })

  it('of JSON that stops coming is no different', async () => {
    const request = httpRequest(`${impatient.url}/v1/sandboxes`, {
      method: 'POST',
      agent: false,
      headers: { authorization: `Bearer ${alice.key}`, 'content-length': '100' },
    })
    request.on('error', () => undefined).write('{"template"')
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    expect([response.resume().statusCode, response.headers.connection]).toEqual([408, 'close'])
  })

  it('that its agent takes slowly is no silence', async () => {
    const { promise: begun, resolve } = Promise.withResolvers<IncomingMessage>()
    agent.onOperation = (request, response) => {
      resolve(request)
      request.once('end', () => response.end('{}'))
      return true
    }
    const request = put(impatient.url)
    const answered = once(request, 'response')
    const sent = pipeline(source(64).stream, request)
    const asked = await begun
    // At the same time, another upload stalls until it is timed out.
    const silent = put(impatient.url, { 'content-length': '1' })
    silent.on('error', () => undefined).flushHeaders()
    const [refusal] = (await once(silent, 'response')) as [IncomingMessage]
    expect(refusal.resume().statusCode).toBe(408)
    asked.resume()
    await sent
    const [response] = (await answered) as [IncomingMessage]
    expect(response.resume().statusCode).toBe(200)
  })

  it('with an unknown Expect header is accepted', async () => {
    const counted = countBytes()
    const request = put(control.url, { expect: 'the best', 'content-length': '5' })
    request.end('hello')
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    expect([response.resume().statusCode, (await counted).bytes]).toEqual([200, 5])
  })

  it('that waits for 100 Continue gets it', async () => {
    const counted = countBytes()
    const request = put(control.url, { expect: '100-continue', 'content-length': '5' })
    request.flushHeaders()
    await once(request, 'continue')
    request.end('hello')
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    response.resume()
    const { bytes, request: asked } = await counted
    expect([response.statusCode, bytes, asked.headers['expect']]).toEqual([200, 5, undefined])
  })
})
