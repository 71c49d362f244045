import Fastify from 'fastify'
import { expect, it } from 'vitest'
import { registerCallerQueue } from './caller-queue.ts'

/** A server that accepts the credentials `alice` and `bob`. `handle` answers with a status. */
function serverOf(handle: (caller: string, hangs: boolean) => Promise<number>) {
  const app = Fastify()
  app.decorateRequest('tenancy', null)
  registerCallerQueue(app)
  app.addHook('onRequest', async (request, reply) => {
    const { authorization } = request.headers
    if (authorization === 'alice' || authorization === 'bob') request.tenancy = { tenant: authorization }
    else await reply.code(401).send('')
  })
  app.get('/', async ({ headers, query }, reply) => {
    const { hangs } = query as { hangs?: string }
    return reply.code(await handle(headers.authorization ?? '', hangs !== undefined)).send('')
  })
  const ask = async (authorization: string, url = '/') => {
    const { statusCode } = await app.inject({ url, headers: { authorization } })
    return statusCode
  }
  return { app, ask }
}

it('serves a caller between the requests of another one who sent hundreds before', async () => {
  const served: string[] = []
  const { ask } = serverOf(async (caller) => {
    served.push(caller)
    await new Promise(setImmediate)
    return 200
  })
  for (const caller of ['alice', 'bob']) expect(await ask(caller)).toBe(200)
  const flood = Array.from({ length: 300 }, () => ask('alice'))
  await ask('bob')
  expect(served.filter((each) => each === 'alice').length).toBeLessThan(50)
  expect(new Set(await Promise.all(flood))).toEqual(new Set([200]))
})

it('gives requests without a valid credential the share of their address, not that of the tenant', async () => {
  const { ask } = serverOf(async () => 200)
  await ask('bob')
  let refused = 0
  const guess = async (credential: string) => {
    expect(await ask(credential)).toBe(401)
    refused += 1
  }
  const flood = Array.from({ length: 300 }, (_, index) => guess(`guess ${index}`))
  await ask('bob')
  expect(refused).toBeLessThan(50)
  await Promise.all(flood)
  expect(refused).toBe(300)
})

it('takes no share for a request that waits for something else, and serves on after refusals', async () => {
  const { promise, resolve } = Promise.withResolvers<number>()
  const { ask } = serverOf(async (_caller, hangs) => (hangs ? promise : 429))
  const hanging = Array.from({ length: 20 }, () => ask('alice', '/?hangs'))
  for (let turn = 0; turn < 10; turn += 1) expect(await ask('alice')).toBe(429)
  resolve(200)
  expect(new Set(await Promise.all(hanging))).toEqual(new Set([200]))
})
