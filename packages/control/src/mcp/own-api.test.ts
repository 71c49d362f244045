import { once } from 'node:events'
import { Readable } from 'node:stream'
import Fastify, { type FastifyRequest } from 'fastify'
import { expect, it } from 'vitest'
import { OwnApi } from './own-api.ts'

it('hangs up on a route that streams when its caller hangs up', async () => {
  const app = Fastify()
  const ended = Promise.withResolvers<void>()
  app.post('/stream', async (_request, reply) => {
    void once(reply.raw, 'close').then(() => ended.resolve())
    const endless = new Readable({ read: () => undefined })
    endless.push('event: start\ndata: {}\n\n')
    return reply.header('content-type', 'text/event-stream').send(endless)
  })
  const caller = new AbortController()
  const request = { headers: { authorization: 'Bearer key' }, ip: '127.0.0.1' } as FastifyRequest
  const api = new OwnApi(app, request, caller.signal)
  const events = api.events({ method: 'POST', url: '/stream', json: {} })
  expect(await events.next()).toMatchObject({ value: { event: 'start' } })
  caller.abort()
  await ended.promise
  await expect(events.next()).rejects.toThrow('response destroyed')
})
