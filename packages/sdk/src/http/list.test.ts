import { afterAll, beforeAll, expect, it } from 'vitest'
import { json, ScriptedServer } from '../test/scripted-server.ts'
import { NotFoundError } from './errors.ts'
import { List } from './list.ts'
import { requestTo } from './routes.ts'
import { Transport } from './transport.ts'

let server: ScriptedServer
beforeAll(async () => {
  server = await ScriptedServer.start()
})
afterAll(() => server.stop())

const next = (cursor: string) => ({ link: `<https://other.example.com/v1/apps?name=a&cursor=${cursor}>; rel="next"` })
const list = () => {
  const transport = new Transport(server.options)
  return new List<{ appId: number }>(transport, requestTo('GET /v1/apps', { query: { name: 'a', limit: 2 } }))
}
const pages = [json(200, [{ app_id: 1 }, { app_id: 2 }], next('c%2B1')), json(200, [{ app_id: 3 }])]

it('yields the entries of all pages, with the filters on each', async () => {
  server.script(...pages)
  expect(await list().all()).toEqual([{ appId: 1 }, { appId: 2 }, { appId: 3 }])
  expect(server.received.map(({ url }) => url)).toEqual([
    '/v1/apps?name=a&limit=2',
    '/v1/apps?name=a&limit=2&cursor=c%2B1',
  ])
})

it('asks for no further page than it needs', async () => {
  server.script(...pages)
  expect(await list().first()).toEqual({ appId: 1 })
  for await (const { appId } of list()) if (appId === 2) break
  expect(server.received.map(({ url }) => url)).toHaveLength(2)
})

it('can be empty, and throws the refusal of any page', async () => {
  server.script(json(200, []))
  expect([await list().first(), await list().all()]).toEqual([null, []])
  server.script(json(200, [{ app_id: 1 }], next('x')), json(404, { error: 'not found' }))
  const seen: unknown[] = []
  const reading = (async () => {
    for await (const entry of list()) seen.push(entry)
  })()
  await expect(reading).rejects.toBeInstanceOf(NotFoundError)
  expect(seen).toEqual([{ appId: 1 }])
})
