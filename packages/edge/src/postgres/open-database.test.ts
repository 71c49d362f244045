import { randomUUID } from 'node:crypto'
import { parseSandboxId, type SandboxId } from '@offshoot/contract/ids'
import { Deadline } from '@offshoot/kit/deadline'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Agent } from '../agents/agent.ts'
import { SandboxLocations } from '../agents/sandbox-locations.ts'
import { FakeAgent } from '../test/fake-agent.ts'
import { AbsentDatabases, type AskDatabase } from './absent-databases.ts'
import { openDatabase } from './open-database.ts'

const id = parseSandboxId(randomUUID()) as SandboxId

let home: FakeAgent
let away: FakeAgent
let agents: Agent[]
let locations: SandboxLocations
/** What control answers. */
let ask: AskDatabase

beforeEach(async () => {
  home = await FakeAgent.start()
  away = await FakeAgent.start()
  agents = [home, away].map(({ url, secret }) => new Agent({ url, secret }))
  locations = new SandboxLocations(agents)
  home.add(id, 'hibernated')
  locations.askRelease = async () => home.url
  ask = async () => null
})

afterEach(async () => {
  await Promise.all(agents.map((agent) => agent.close()))
  await home.kill()
  await away.kill()
})

const find = () => locations.find(id, '', new AbortController().signal)
const open = (ms = 30_000) => {
  const databases = { locations, absent: new AbsentDatabases((asked) => ask(asked)) }
  return openDatabase(databases, id, { remoteAddress: '127.0.0.1' }, Deadline.after(ms, 'a connection'))
}

describe('a database that moves to another host', () => {
  beforeEach(() => {
    home.held.add(id)
    // A refusal of its own tells which host was reached.
    away.onOpen = () => 507
  })

  it('is waited for, and reached at its new host', async () => {
    const opening = open()
    opening.catch(() => undefined)
    await expect.poll(() => home.opened, { timeout: 20_000 }).toBeGreaterThan(1)
    home.sandboxes.delete(id)
    away.add(id, 'hibernated')
    await expect(opening).rejects.toMatchObject({ message: 'no memory to wake the database' })
    expect(away.opened).toBe(1)
  })

  it('is reached at once where control says that it is', async () => {
    await find()
    away.add(id, 'hibernated')
    locations.askRelease = async () => away.url
    await expect(open()).rejects.toMatchObject({ message: 'no memory to wake the database' })
  })

  it('is refused with the reason if the move takes too long', async () => {
    await expect(open(2_000)).rejects.toMatchObject({ code: '57P03', message: 'database is moving to another host' })
  })

  it('does not exist if no host has it any more', async () => {
    await find()
    home.sandboxes.delete(id)
    await expect(open()).rejects.toMatchObject({ code: '3D000' })
    expect(locations.known(id)).toBeUndefined()
  })
})

const exists: AskDatabase = async () => ({ is_coming_back: false })
const comesBack: AskDatabase = async () => ({ is_coming_back: true })
const unknown: AskDatabase = async () => null
const controlIsAway: AskDatabase = async () => {
  throw new Error('control answered 502')
}
const lose = async () => {
  await home.kill()
  for (const agent of agents) agent.isLost = agent.url === home.url
}
const away57P03 = { code: '57P03', message: 'the host of the database is away' }
const back57P03 = { code: '57P03', message: 'database is being brought back on another host' }
const later57P03 = { code: '57P03', message: 'database cannot be reached just now' }
const gone3D000 = { code: '3D000', message: 'database does not exist' }

describe('a database that no host lets the edge in to', () => {
  it.each([
    ['its host is away', exists, away57P03],
    ['it is brought back', comesBack, back57P03],
    ['control is away, too', controlIsAway, later57P03],
    ['control does not know it', unknown, gone3D000],
  ])('and of which the edge knows no host: %s', async (_what, answer, refusal) => {
    await home.kill()
    ask = answer
    await expect(open()).rejects.toMatchObject(refusal)
  })

  it.each([
    ['its host is away', exists, away57P03],
    ['it is brought back', comesBack, back57P03],
    ['control is away, too', controlIsAway, later57P03],
    ['control is an earlier version, which knows none', unknown, away57P03],
  ])('and whose host the edge knows: %s', async (_what, answer, refusal) => {
    await find()
    await lose()
    ask = answer
    await expect(open()).rejects.toMatchObject(refusal)
  })

  it('because it is private while it is brought back', async () => {
    await home.kill()
    away.add(id, 'running', 'private')
    ask = comesBack
    await expect(open()).rejects.toMatchObject(back57P03)
    ask = exists
    await expect(open()).rejects.toMatchObject(later57P03)
  })

  it('because it is no database, but a private sandbox', async () => {
    home.add(id, 'running', 'private')
    await expect(open()).rejects.toMatchObject(gone3D000)
  })

  it('because it has failed', async () => {
    home.add(id, 'failed')
    home.onOpen = () => 404
    await find()
    ask = exists
    await expect(open()).rejects.toMatchObject(later57P03)
    expect(locations.known(id)?.status).toBe('failed')
  })
})

const refuse = (absent: AbsentDatabases, asked: SandboxId | undefined) =>
  absent.refusal(asked ?? id, '192.0.2.1', 'the host is away')

describe('questions to control about databases', () => {
  const ids = Array.from({ length: 33 }, () => parseSandboxId(randomUUID()) as SandboxId)

  it('are shared by clients of one database, and asked anew after each answer', async () => {
    let questions = 0
    const absent = new AbsentDatabases(async () => {
      questions += 1
      return { is_coming_back: true }
    })
    const refusals = await Promise.all(Array.from({ length: 100 }, () => refuse(absent, id)))
    expect([questions, refusals.every(({ code }) => code === '57P03')]).toEqual([1, true])
    await refuse(absent, id)
    expect(questions).toBe(2)
  })

  it('are not more than a few at a time of one address, and nobody is told a guess', async () => {
    const answered = Promise.withResolvers<null>()
    let questions = 0
    const absent = new AbsentDatabases(() => {
      questions += 1
      return answered.promise
    })
    const refusals = ids.map((each) => refuse(absent, each))
    await expect(refusals.at(-1)).resolves.toMatchObject({ code: '57P03' })
    expect(questions).toBe(32)
    refusals.push(absent.refusal(id, '192.0.2.2', 'the host is away'))
    expect(questions).toBe(33)
    answered.resolve(null)
    expect((await Promise.all(refusals)).filter(({ code }) => code === '3D000')).toHaveLength(33)
    await expect(refuse(absent, ids[32])).resolves.toMatchObject({ code: '3D000' })
  })
})
