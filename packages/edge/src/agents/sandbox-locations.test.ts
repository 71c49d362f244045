import { randomUUID } from 'node:crypto'
import type { SandboxId } from '@offshoot/contract/ids'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { FakeAgent } from '../test/fake-agent.ts'
import { Agent } from './agent.ts'
import { SandboxLocations } from './sandbox-locations.ts'

describe('locations', () => {
  let fake: FakeAgent
  let agent: Agent
  let locations: SandboxLocations

  beforeEach(async () => {
    fake = await FakeAgent.start()
    agent = new Agent(fake)
    locations = new SandboxLocations([agent])
  })

  afterEach(async () => {
    await agent.close()
    await fake.kill()
  })

  const find = (id: string, visitor = '192.0.2.1') =>
    locations.find(id as SandboxId, visitor, AbortSignal.timeout(30_000))

  it('ask once for an id that many want to know of at once', async () => {
    const id = randomUUID()
    expect(await Promise.all(Array.from({ length: 20 }, () => find(id)))).toEqual(
      Array.from({ length: 20 }, () => null),
    )
    expect(fake.asked).toEqual([id])
  })

  it('leave questions for others, however many ids one visitor makes up', async () => {
    const held = Promise.withResolvers<void>()
    fake.onAsk = () => (fake.asked.length === 1 ? held.promise : undefined)
    const made = Array.from({ length: 100 }, () => find(randomUUID()))
    const id = randomUUID()
    fake.add(id)
    expect(await find(id, '192.0.2.2')).toMatchObject({ status: 'running' })
    held.resolve()
    expect(new Set(await Promise.all(made))).toEqual(new Set([null]))
    expect(fake.asked.length).toBeLessThan(made.length)
  })
})
