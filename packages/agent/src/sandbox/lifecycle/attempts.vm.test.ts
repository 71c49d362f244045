import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { AgentProcess } from '../../test/agent-process.ts'

let agent: AgentProcess
beforeAll(async () => {
  agent = await AgentProcess.create()
  await agent.start()
})
afterAll(() => agent.destroy())

it('makes nothing for an attempt that was given up, and deletes only what the given attempt has made', async () => {
  const [id, first, second] = [randomUUID(), randomUUID(), randomUUID()]
  const create = (attempt: string) =>
    agent.call('POST', '/v1/sandboxes', { body: { id, template: 'minimal', env: {}, attempt_id: attempt } })
  const remove = async (attempt: string) =>
    (await agent.call('DELETE', `/v1/sandboxes/${id}?attempt_id=${attempt}`)).status
  expect(await remove(first)).toBe(204)
  expect((await create(first)).body).toMatchObject({ detail: 'the attempt to make the sandbox was given up' })
  expect((await create(second)).status).toBe(201)
  expect([await remove(first), await remove(second)]).toEqual([409, 204])
})
