/** @module-tag long */
import { S3Server } from '@offshoot/kit/test/s3-server'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { copySettings } from '../../test/copy-settings.ts'
import { failRecoveries } from '../../test/fail-recoveries.ts'
import { FakeAgent } from '../../test/fake-agent.ts'
import type { FakeFile } from '../../test/fake-agent-state.ts'
import { fakeDatabase } from '../../test/fake-database.ts'
import { call, eventually, Harness, type RunningControl, type Tenant } from '../../test/harness.ts'

const SEGMENTS = [1, 2, 3].map((n) => `00000001000000000000000${n}`)
const MINUTE_MS = 60_000

/** Restores end with a failed recovery, which needs no server; what the recovery could read is what matters. */
describe('a restore from a stored archive', () => {
  let harness: Harness
  let home: FakeAgent
  let other: FakeAgent
  let control: RunningControl
  let alice: Tenant
  let s3: S3Server
  let id: string
  let time: string
  let fed: unknown[]

  beforeEach(async () => {
    s3 = await S3Server.start()
    home = await FakeAgent.start({ templates: ['postgres-16'] })
    other = await FakeAgent.start({ templates: [] })
    harness = await Harness.start()
    control = await harness.control([home, other], copySettings(s3.settings))
    alice = await harness.tenant(control, 'alice')
    id = await fakeDatabase(harness, control, alice)
    const now = new Date().toISOString()
    const files = SEGMENTS.map((name): [string, FakeFile] => [name, { content: Buffer.from(name), takenAt: now }])
    home.state.archives.set(id, new Map(files))
    await ask('POST', '/backups', {})
    const takenAt = new Date(Date.now() - MINUTE_MS)
    time = new Date(takenAt.getTime() + 1_000).toISOString()
    await harness.pool.query('update database_backups set taken_at = $1', [takenAt])
    await harness.pool.query('insert into stored_archives (id, workspace_id, due_at) values ($1, $2, now())', [
      id,
      alice.workspaceId,
    ])
    const stored = async (what: string) =>
      (await harness.pool.query(`select from ${what} where state = 'stored'`)).rowCount
    await eventually(async () => (await stored('stored_segments')) === 3 && (await stored('artifact_copies')) === 1)
    fed = failRecoveries([home, other])
  })

  afterEach(async () => {
    await harness.stop()
    await Promise.all([home.kill(), other.kill()])
    await s3.stop()
  })

  const ask = async (method: string, path: string, body?: object) =>
    call(control.url, method, `/v1/databases/${id}${path}`, { token: alice.key, ...(body && { body }) })
  const restore = async () => (await ask('POST', '/restore', { time })).body.detail as string
  const archivesOf = ({ state }: FakeAgent) => [...state.archives].filter(([of]) => of !== id)
  const lose = async () => {
    await home.kill()
    await eventually(() => control.control.fleet.byId(home.state.agentId)?.isReachable === false)
  }
  const RECOVERY_FAILED = 'the database could not be brought to that time'

  it('needs nothing of a host that is away', { tags: ['long'] }, async () => {
    await lose()
    expect(await restore()).toBe(RECOVERY_FAILED)
    const [[made, files] = []] = archivesOf(other)
    expect([fed, [...(files?.keys() ?? [])]]).toEqual([[{ from: made }], SEGMENTS])
  })

  it('has files that the database’s archive has lost when it was recovered from a later backup', async () => {
    home.state.archives.set(id, new Map([...(home.state.archives.get(id) ?? [])].slice(2)))
    expect(await restore()).toBe(RECOVERY_FAILED)
    const [[made, files] = []] = archivesOf(home)
    expect([fed, [...(files?.keys() ?? [])].toSorted()]).toEqual([[{ from: made }], SEGMENTS])
  })

  it('copies nothing if the database’s archive has all', { tags: ['long'] }, async () => {
    expect(await restore()).toBe(RECOVERY_FAILED)
    expect([fed, archivesOf(home)]).toEqual([[{ from: id }], []])
  })

  it('is refused if the store has lost a file, and leaves nothing', async () => {
    await lose()
    const name = [...s3.objects.keys()].find((each) => each.includes('/wal/'))
    s3.objects.delete(name ?? '')
    expect(await restore()).toBe('a part of the archive cannot be read at present')
    expect([fed, [...other.state.sandboxes.keys()]]).toEqual([[], []])
    expect((await harness.pool.query('select id from databases')).rows).toEqual([{ id }])
  })
})
