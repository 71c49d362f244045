/** @module-tag faults */
import { findFreePort } from '@offshoot/kit/free-port'
import { S3Server } from '@offshoot/kit/test/s3-server'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { grantAnew, holdEndedLease } from '../../fleet/lease-statements.ts'
import { transaction } from '../../platform/db/transaction.ts'
import { copySettings } from '../../test/copy-settings.ts'
import { DatabaseToLose, RecoveredServer } from '../../test/database-to-lose.ts'
import { FakeAgent } from '../../test/fake-agent.ts'
import { FakeAgentState } from '../../test/fake-agent-state.ts'
import { call, eventually, Harness } from '../../test/harness.ts'
import { holdStep } from '../../test/hold-step.ts'
import { JoiningHost } from '../../test/joining-host.ts'
import { OPERATOR_KEY } from '../../test/operator.ts'

/** Milliseconds until a lease of a host that is gone has ended. */
const PATIENCE_MS = 60_000
const SKIP_UPDATES = `
  create function skip_update() returns trigger language plpgsql as 'begin return null; end';
  create trigger skipped before update on host_leases for each row execute function skip_update()`

describe('a database on a host whose lease has ended', () => {
  let server: RecoveredServer
  let lost: DatabaseToLose
  let host: JoiningHost
  let hostId: string

  beforeAll(async () => {
    server = await RecoveredServer.start()
  })
  afterAll(async () => server.stop())

  const settings = () => ({ ...copySettings(lost.s3.settings), lost_after_seconds: 5, database_leases: true })
  const startHome = async (state: FakeAgentState) =>
    FakeAgent.start({
      state,
      templates: ['postgres-16'],
      port: Number(new URL(host.url).port),
      tls: host.identity,
      secret: host.joined?.secret ?? '',
    })

  beforeEach(async () => {
    const s3 = await S3Server.start()
    const other = await FakeAgent.start({ templates: [] })
    const harness = await Harness.start()
    const chosen = { ...copySettings(s3.settings), lost_after_seconds: 5, database_leases: true }
    const control = await harness.control([other], chosen)
    host = new JoiningHost(`https://127.0.0.1:${await findFreePort()}`)
    const { body } = await call(control.url, 'POST', '/v1/admin/hosts/tokens', { token: OPERATOR_KEY })
    await host.join(control, body.token)
    hostId = host.joined?.host_id ?? ''
    const home = await startHome(new FakeAgentState(hostId))
    await eventually(() => control.control.fleet.byId(hostId)?.isReachable === true, PATIENCE_MS)
    lost = await DatabaseToLose.on({ harness, control, home, other, s3 }, server)
    await eventually(async () => home.state.lease.isHeld && (await lease())?.is_confirmed === true, PATIENCE_MS)
  })
  afterEach(async () => lost.stop())

  const lease = async () => (await lost.harness.pool.query('select * from host_leases')).rows[0]
  const ended = async () => eventually(async () => (await lease())?.ended_at !== null, PATIENCE_MS)
  const comeBack = async () => {
    lost.home = await startHome(lost.home.state)
  }
  const granted = async () =>
    eventually(() => lost.home.state.lease.isHeld && lost.home.state.lease.generation === 2, PATIENCE_MS)
  const owner = async () => {
    const { rows } = await lost.harness.pool.query('select agent_id from sandboxes where id = $1', [lost.id])
    return rows[0]?.agent_id
  }

  it('comes back elsewhere, and its host gets a lease when it has given it up', async () => {
    await lost.storeBackup()
    expect(await lost.moves()).toEqual([])
    await lost.home.kill()
    await lost.recovered()
    expect([await owner(), lost.home.state.lease.isHeld]).toEqual([lost.other.state.agentId, false])
    expect((await lease()).ended_at).not.toBeNull()
    const [asked, isGivenUp] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    await eventually(async () => (await lost.moves()).every(({ state }) => state === 'done'), PATIENCE_MS)
    await comeBack()
    lost.home.onMove = async (step) => {
      if (step !== 'taken') return undefined
      asked.resolve()
      await isGivenUp.promise
      return undefined
    }
    await asked.promise
    expect(await grantAnew(lost.harness.pool, hostId, 3, [])).toBeNull()
    expect(lost.home.state.lease.isHeld).toBe(false)
    isGivenUp.resolve()
    await granted()
    expect([lost.home.state.sandboxes.has(lost.id), lost.other.state.sandboxes.has(lost.id)]).toEqual([false, true])
    expect(await lost.moves()).toMatchObject([{ state: 'done', left_behind: null }])
    expect(await owner()).toBe(lost.other.state.agentId)
  })

  it('keeps its host without a lease while that cannot read its record', { tags: ['long'] }, async () => {
    await lost.storeBackup()
    await lost.home.kill()
    await lost.recovered()
    const { state } = lost.home
    state.sandboxes.delete(lost.id)
    state.unreadable.add(lost.id)
    await comeBack()
    await eventually(async () => (await lost.moves()).every(({ left_behind: left }) => left === null), PATIENCE_MS)
    const asked = () => lost.home.requests.filter(({ path }) => path === '/v1/sandboxes').length
    const before = asked()
    await eventually(() => asked() > before + 2, PATIENCE_MS)
    expect(state.lease.isHeld).toBe(false)
    state.unreadable.delete(lost.id)
    await granted()
  })

  it('is given up once more if the answer was lost or the host failed', { tags: ['long'] }, async () => {
    await lost.storeBackup()
    await lost.home.kill()
    await lost.recovered()
    await comeBack()
    let refusals = 2
    lost.home.onMove = async (step) =>
      step === 'taken' && refusals-- > 0 ? { status: 500, body: { error: 'its disk is full' } } : undefined
    lost.home.lostAnswers.add('taken')
    await granted()
    expect(lost.home.state.sandboxes.has(lost.id)).toBe(false)
  })

  it('stays and runs on if its host is back before anything began', { tags: ['long'] }, async () => {
    await lost.home.kill()
    await ended()
    expect(await lost.moves()).toEqual([])
    await comeBack()
    await granted()
    expect([await owner(), lost.home.state.sandboxes.has(lost.id)]).toEqual([hostId, true])
    expect((await lost.ask('GET')).body.recovered_at).toBeNull()
  })

  it(
    'comes back although its host is heard in the middle, which gets no lease before the end',
    { tags: ['long'] },
    async () => {
      await lost.storeBackup()
      const held = holdStep([lost.other], 'put-archive')
      await lost.home.kill()
      await held.begun
      await comeBack()
      await eventually(() => lost.control.control.fleet.byId(hostId)?.isReachable === true, PATIENCE_MS)
      expect(await grantAnew(lost.harness.pool, hostId, 3, [])).toBeNull()
      held.release()
      await lost.recovered()
      await granted()
      expect([await owner(), lost.home.state.sandboxes.has(lost.id)]).toEqual([lost.other.state.agentId, false])
    },
  )

  it('comes back although an operator ends the drain of its host in the middle', async () => {
    await lost.storeBackup()
    const held = holdStep([lost.other], 'put-archive')
    await lost.home.kill()
    await held.begun
    for (const change of ['drain', 'uncordon']) {
      const path = `/v1/admin/hosts/${hostId}/${change}`
      expect((await call(lost.control.url, 'POST', path, { token: OPERATOR_KEY })).status).toBe(200)
    }
    await comeBack()
    held.release()
    await lost.recovered()
    await granted()
    expect([await owner(), lost.home.state.sandboxes.has(lost.id)]).toEqual([lost.other.state.agentId, false])
    expect(await lost.moves()).toMatchObject([{ state: 'done' }])
  })

  it('does not come back while its host may get a lease, nor after it got one', async () => {
    await lost.storeBackup()
    await lost.harness.pool.query(`update agents set cordoned_at = now() where id = $1`, [lost.other.state.agentId])
    await eventually(() => lost.control.control.fleet.byId(lost.other.state.agentId)?.isCordoned === true)
    await lost.home.kill()
    await ended()
    await transaction(lost.harness.pool, async (client) => {
      await client.query(
        `update host_leases set ended_at = null, ended_in = null, renewals = renewals + 1, generation = 2`,
      )
      await lost.harness.pool.query(`update agents set cordoned_at = null`)
      await eventually(async () => {
        const waiting = `select from pg_stat_activity where wait_event_type = 'Lock' and query ilike '%host_leases%'`
        return (await lost.harness.pool.query(waiting)).rowCount
      }, PATIENCE_MS)
      await comeBack()
    })
    await eventually(() => lost.home.state.lease.isHeld, PATIENCE_MS)
    expect([await lost.moves(), await owner()]).toEqual([[], hostId])
  })

  it('comes back later if the database of control fails over in the middle', { tags: ['long'] }, async () => {
    await lost.storeBackup()
    let isFirst = true
    lost.other.onMove = async (step) => {
      if (step !== 'put-archive' || !isFirst) return undefined
      isFirst = false
      await lost.harness.pool.query(`update host_leases set ended_in = 'of the earlier server'`)
      // Until it has been tried, no process says again that the lease has ended.
      await lost.harness.pool.query(SKIP_UPDATES)
      return undefined
    }
    await lost.home.kill()
    await lost.tried('the database was deleted, or a host')
    expect([await owner(), (await lost.ask('GET')).body.recovered_at]).toEqual([hostId, null])
    await lost.harness.pool.query('drop trigger skipped on host_leases')
    await eventually(
      async () => (await transaction(lost.harness.pool, (on) => holdEndedLease(on, hostId))).length,
      PATIENCE_MS,
    )
    await lost.again()
    await lost.recovered()
  })

  it('comes back although its host was being drained, and another process does it', { tags: ['long'] }, async () => {
    await lost.storeBackup()
    await lost.home.kill()
    await lost.harness.pool.query(
      `insert into sandbox_moves (sandbox_id, workspace_id, from_agent, to_agent, state, was_running)
       values ($1, $2, $3, $4, 'leaving', true)`,
      [lost.id, lost.alice.workspaceId, hostId, lost.other.state.agentId],
    )
    const second = await lost.harness.control([lost.other], settings())
    await lost.control.stop()
    lost.control = second
    await lost.recovered()
    expect(await lost.moves()).toMatchObject([
      { state: 'failed', reason: 'the host was lost' },
      { backup_id: expect.any(String) },
    ])
  })
})
