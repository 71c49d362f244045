import { once } from 'node:events'
import { Agent, type IncomingMessage, request, type RequestOptions } from 'node:http'
import Fastify from 'fastify'
import { expect, it } from 'vitest'
import { UploadBody } from './receive-upload.ts'

it('a body that is not read to its end does not block the next request of its connection', async () => {
  const server = Fastify()
  server.addContentTypeParser('*', (_request, _payload, done) => done(null))
  server.put('/', async (request, reply) => {
    const body = UploadBody.of(request, 2 ** 40, new AbortController().signal)
    await once(body, 'readable')
    body.close()
    return reply.code(409).send()
  })
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const url = await server.listen({ host: '127.0.0.1', port: 0 })
  const put = async (body: Buffer): Promise<number | undefined> => {
    const headers = { 'content-type': 'application/octet-stream', 'content-length': body.length }
    const options: RequestOptions = { method: 'PUT', agent, headers, signal: AbortSignal.timeout(5000) }
    const sent = request(url, options).end(body)
    const [response] = (await once(sent, 'response')) as [IncomingMessage]
    response.resume()
    await once(response, 'end')
    return response.statusCode
  }
  try {
    expect([await put(Buffer.alloc(64 * 1024 * 1024)), await put(Buffer.from('x'))]).toEqual([409, 409])
  } finally {
    agent.destroy()
    server.server.closeAllConnections()
    await server.close()
  }
})
