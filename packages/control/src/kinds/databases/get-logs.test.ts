import { afterAll, beforeAll, expect, it } from 'vitest'
import { FakeAgent } from '../../test/fake-agent.ts'
import { fakeDatabase } from '../../test/fake-database.ts'
import { call, Harness, type RunningControl, type Tenant } from '../../test/harness.ts'

let harness: Harness
let agent: FakeAgent
let control: RunningControl
let tenant: Tenant

beforeAll(async () => {
  agent = await FakeAgent.start({ templates: ['postgres-16'] })
  harness = await Harness.start()
  control = await harness.control([agent])
  tenant = await harness.tenant(control, 'alice')
})

afterAll(async () => {
  await harness.stop()
  await agent.kill()
})

it('the agent is asked for the log of a database without the caller’s token', async () => {
  const asked: unknown[] = []
  agent.onOperation = ({ url }, response) => {
    asked.push(url)
    response.writeHead(200, { 'content-type': 'application/json' }).end('[]')
    return true
  }
  const id = await fakeDatabase(harness, control, tenant)
  for (const query of ['?follow=0&access_token=TOKEN&tail=5', '?access_token=TOKEN', '?%61ccess_token=TOKEN&tail=5'])
    expect(
      (await call(control.url, 'GET', `/v1/databases/${id}/logs${query.replace('TOKEN', tenant.key)}`)).status,
    ).toBe(200)
  const path = `/v1/sandboxes/${id}/logs`
  expect(asked).toEqual([`${path}?follow=0&tail=5`, path, `${path}?tail=5`])
})
