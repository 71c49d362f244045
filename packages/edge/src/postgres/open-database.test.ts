import { randomUUID } from 'node:crypto'
import { parseSandboxId, type SandboxId } from '@offshoot/contract/ids'
import { Deadline } from '@offshoot/kit/deadline'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Agent } from '../agents/agent.ts'
import { SandboxLocations } from '../agents/sandbox-locations.ts'
import { FakeAgent } from '../test/fake-agent.ts'
import { openDatabase } from './open-database.ts'

const id = parseSandboxId(randomUUID()) as SandboxId

describe('a database that moves to another host', () => {
  let home: FakeAgent
  let away: FakeAgent
  let locations: SandboxLocations

  beforeEach(async () => {
    home = await FakeAgent.start()
    away = await FakeAgent.start()
    locations = new SandboxLocations([home, away].map(({ url, secret }) => new Agent({ url, secret })))
    home.add(id, 'hibernated')
    home.held.add(id)
    locations.askRelease = async () => home.url
    // A refusal of its own tells which host was reached.
    away.onOpen = () => 507
  })

  afterEach(async () => {
    await home.kill()
    await away.kill()
  })

  const open = (ms: number) =>
    openDatabase(locations, id, { remoteAddress: '127.0.0.1' }, Deadline.after(ms, 'a connection'))

  it('is waited for, and reached at its new host', async () => {
    const opening = open(30_000)
    opening.catch(() => undefined)
    await expect.poll(() => home.opened).toBeGreaterThan(1)
    home.sandboxes.delete(id)
    away.add(id, 'hibernated')
    await expect(opening).rejects.toMatchObject({ message: 'no memory to wake the database' })
    expect(away.opened).toBe(1)
  })

  it('is reached at once where control says that it is', async () => {
    await locations.find(id, '', new AbortController().signal)
    away.add(id, 'hibernated')
    locations.askRelease = async () => away.url
    await expect(open(30_000)).rejects.toMatchObject({ message: 'no memory to wake the database' })
  })

  it('is refused with the reason if the move takes too long', async () => {
    await expect(open(2_000)).rejects.toMatchObject({ code: '57P03', message: 'database is moving to another host' })
  })

  it('does not exist if no host has it any more', async () => {
    await locations.find(id, '', new AbortController().signal)
    home.sandboxes.delete(id)
    await expect(open(30_000)).rejects.toMatchObject({ code: '3D000' })
    expect(locations.known(id)).toBeUndefined()
  })
})
