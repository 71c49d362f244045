/** @module-tag faults */
import pg from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { copySettings } from '../../test/copy-settings.ts'
import { DatabaseToLose, RecoveredServer, SEGMENTS } from '../../test/database-to-lose.ts'
import { call, eventually } from '../../test/harness.ts'
import { holdStep } from '../../test/hold-step.ts'

describe('a database whose host was removed', () => {
  let server: RecoveredServer
  let lost: DatabaseToLose

  beforeAll(async () => {
    server = await RecoveredServer.start()
  })
  afterAll(async () => server.stop())
  beforeEach(async () => {
    lost = await DatabaseToLose.start(server)
  })
  afterEach(async () => lost.stop())

  const ask = async (method: string, path = '') => lost.ask(method, path)

  it('comes back from its backup and its stored archive, with its id and its credentials', async () => {
    const backup = await lost.backUp()
    const until = await lost.toldInAMinute()
    const before = (await ask('GET')).body
    const created: object[] = []
    lost.other.onCreate = async (_id, body) => {
      created.push(body)
      return undefined
    }
    const { commands } = lost.recovers()
    await lost.remove()
    await lost.recovered()
    const { connection_url: url, username } = before
    expect((await ask('GET')).body).toMatchObject({
      id: lost.id,
      status: 'running',
      connection_url: url,
      recovered_until: until,
    })
    expect(created).toMatchObject([{ id: lost.id, snapshot_id: backup, without_memory: true, visibility: 'private' }])
    expect([...(lost.other.state.archives.get(lost.id)?.keys() ?? [])]).toEqual(SEGMENTS)
    expect(commands).toEqual([expect.stringContaining('timeline=latest'), expect.stringContaining('resize2fs')])
    await eventually(() => lost.other.state.sandboxes.get(lost.id)?.visibility === 'public')
    const client = new pg.Client({ ...server.postgres, user: username, password: lost.password, database: 'postgres' })
    await client.connect()
    await client.end()
    const { rows } = await lost.harness.pool.query('select details from audit_log where action = $1', [
      'database.recovered',
    ])
    const [from, to] = [lost.home, lost.other].map(({ state }) => state.agentId)
    expect(rows).toEqual([{ details: { from, to, backup, until } }])
    // A new backup is made soon, and the old host would remove what it has.
    await eventually(async () => (await ask('GET', '/backups')).body.length === 2)
    const removed = await lost.harness.pool.query('select from removed_objects where id = $1 and agent_id = $2', [
      lost.id,
      from,
    ])
    expect(removed.rowCount).toBe(1)
  })

  it('stays as it is if the host is only lost, or was removed without a reason', async () => {
    await lost.backUp()
    await lost.harness.pool.query('update agents set lost_at = now() where id = $1', [lost.home.state.agentId])
    await lost.remove(null)
    const metrics = await call(lost.control.url, 'GET', '/metrics', {})
    expect([await lost.moves(), metrics.status]).toEqual([[], 200])
    expect((await ask('GET')).body).toMatchObject({ status: 'failed', recovered_at: null })
  })

  it('stays as it is without a backup on another host, and without a stored archive', { tags: ['long'] }, async () => {
    await lost.remove()
    await lost.harness.pool.query(`delete from stored_segments`)
    await lost.wake()
    expect((await ask('GET')).body).toMatchObject({ status: 'failed', recovered_at: null })
    expect(await lost.moves()).toEqual([])
  })

  it.each([
    ['a file of the archive is missing', 'is missing', () => lost.s3.objects.clear()],
    ['the store is broken', 'status 500', () => void (lost.s3.fault = 'error-500')],
    ['the recovery fails', 'could not be brought', () => void lost.recovers(1)],
  ])('is never made of a part: %s', async (_what, reason, fault) => {
    await lost.backUp()
    const objects = new Map(lost.s3.objects)
    fault()
    await lost.remove()
    await lost.tried(reason)
    expect((await ask('GET')).body).toMatchObject({ status: 'failed', recovered_at: null })
    await eventually(() => !lost.other.state.sandboxes.has(lost.id))
    lost.s3.fault = 'none'
    for (const [name, content] of objects) lost.s3.objects.set(name, content)
    lost.recovers()
    await lost.again()
    await lost.recovered()
  })

  it('is begun again by another process if one ends in the middle', { tags: ['long'] }, async () => {
    await lost.backUp()
    const held = holdStep([lost.other], 'put-archive')
    await lost.remove()
    await held.begun
    const second = await lost.harness.control([lost.other], copySettings(lost.s3.settings))
    await lost.control.stop()
    lost.control = second
    held.release()
    await lost.tried('interrupted')
    await lost.again()
    await lost.recovered()
    expect((await lost.moves()).map(({ state }) => state)).toEqual([
      'failed',
      expect.stringMatching(/^(done|committed)$/),
    ])
  })

  it('is not made if it is deleted meanwhile', async () => {
    await lost.backUp()
    lost.other.onMove = async (step) => {
      if (step === 'put-archive') await ask('DELETE')
      return undefined
    }
    await lost.remove()
    await eventually(async () => (await lost.moves()).some(({ state }) => state === 'failed'))
    await eventually(() => !lost.other.state.sandboxes.has(lost.id))
    expect((await ask('GET')).status).toBe(404)
  })
})
