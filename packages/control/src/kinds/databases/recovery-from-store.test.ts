/** @module-tag long */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { copySettings } from '../../test/copy-settings.ts'
import { DatabaseToLose, HISTORY, RecoveredServer, WHOLE_HISTORY } from '../../test/database-to-lose.ts'
import { call, eventually } from '../../test/harness.ts'
import { holdStep } from '../../test/hold-step.ts'

describe('a lost database whose backups only the object store has', () => {
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

  const used = async () => (await lost.moves()).map(({ backup_id: backup }) => backup)
  const imports = () => lost.other.requests.filter(({ path }) => path.endsWith('/import')).length
  const gauge = async () => {
    const { body } = await call(lost.control.url, 'GET', '/metrics')
    return /^offshoot_databases_lost\{status="recoverable"\} (\d+)/m.exec(body as string)?.[1]
  }
  const cordoned = async (is: boolean) => {
    await lost.harness.pool.query(`update agents set cordoned_at = case when $2 then now() end where id = $1`, [
      lost.other.state.agentId,
      is,
    ])
    await eventually(() => lost.control.control.fleet.byId(lost.other.state.agentId)?.isCordoned === is)
  }

  it('comes back on a host that gets the newest one, once that is not cordoned', async () => {
    await lost.storeBackup(120)
    const backup = await lost.storeBackup()
    await cordoned(true)
    await lost.remove()
    await eventually(async () => (await gauge()) === '1')
    expect(await lost.moves()).toEqual([])
    await cordoned(false)
    await lost.recovered()
    expect([(await used())[0], lost.other.state.snapshots.has(backup)]).toEqual([backup, true])
    expect(await gauge()).not.toBe('1')
  })

  it('comes back from an older one that the host has if nobody can give the newest', async () => {
    const older = await lost.backUp()
    await lost.harness.pool.query(`update database_backups set taken_at = taken_at - interval '1 minute'`)
    const newer = await lost.storeBackup()
    await lost.harness.pool.query(`update artifact_copies set state = 'ended', ended_at = now(), reason = 'a test'`)
    lost.recovers(0, WHOLE_HISTORY)
    await lost.remove()
    await lost.recovered()
    expect([older, newer].map((id) => lost.other.state.snapshots.has(id))).toEqual([true, false])
    expect(await used()).toEqual([older])
  })

  it.each([
    ['is missing', 'an object is missing', () => undefined],
    ['is damaged', 'the object store', (key: string) => void lost.s3.objects.set(key, Buffer.alloc(100))],
  ])('comes back from an older one if an object of the newest %s', async (_what, reason, damage) => {
    const older = await lost.storeBackup(120)
    const newer = await lost.storeBackup()
    for (const key of (await lost.dropObjects(newer)).keys()) damage(key)
    lost.recovers(0, WHOLE_HISTORY)
    await lost.remove()
    await lost.tried(reason)
    await lost.again()
    await lost.recovered()
    expect(await used()).toEqual([newer, older])
  })

  it('waits for the newest one if the archive has a gap after the older one', async () => {
    const older = await lost.storeBackup(120)
    const newer = await lost.storeBackup()
    const dropped = await lost.dropObjects(newer)
    lost.recovers(0, HISTORY)
    await lost.remove()
    await lost.tried('an object is missing')
    await lost.again()
    await lost.tried('the archive has a gap')
    for (const [key, content] of dropped) lost.s3.objects.set(key, content)
    await lost.again()
    await lost.recovered()
    expect(await used()).toEqual([newer, older, newer])
  })

  it('comes back later if the store is broken, and leaves nothing of the first attempt', async () => {
    const backup = await lost.storeBackup()
    lost.s3.fault = 'error-500'
    await lost.remove()
    await lost.tried('status 500')
    expect([lost.other.state.snapshots.has(backup), lost.other.state.sandboxes.has(lost.id)]).toEqual([false, false])
    lost.s3.fault = 'none'
    await lost.again()
    await lost.recovered()
  })

  it('comes back although an answer is lost', async () => {
    await lost.storeBackup()
    lost.other.lostAnswers.add('import-snapshot')
    await lost.remove()
    await lost.recovered()
    expect((await lost.moves()).length).toBe(1)
  })

  it('comes back once if two processes can do it', async () => {
    await lost.storeBackup()
    const second = await lost.harness.control([lost.other], copySettings(lost.s3.settings))
    await lost.remove()
    await Promise.all([lost.control, second].map(async () => lost.wake()))
    await lost.recovered()
    expect([imports(), (await lost.moves()).length]).toEqual([1, 1])
  })

  it('comes back later if a process ends while it brings the backup', async () => {
    await lost.storeBackup()
    const held = holdStep([lost.other], 'import-snapshot')
    await lost.remove()
    await held.begun
    const second = await lost.harness.control([lost.other], copySettings(lost.s3.settings))
    await lost.control.stop()
    lost.control = second
    held.release()
    await eventually(async () => {
      await lost.again()
      return (await lost.ask('GET')).body.recovered_at !== null
    })
  })

  it('comes back later if a process was killed while it brought the backup', async () => {
    const backup = await lost.storeBackup()
    // The row of the process that is gone.
    await lost.harness.pool.query(
      'insert into artifact_hosts (artifact_id, agent_id, workspace_id, creator) values ($1, $2, $3, 2147483647)',
      [backup, lost.other.state.agentId, lost.alice.workspaceId],
    )
    await lost.remove()
    await eventually(async () => (await lost.moves()).length === 1)
    lost.control.control.fleet.reconcileSoon(lost.other.state.agentId)
    await eventually(async () => {
      await lost.again()
      return (await lost.ask('GET')).body.recovered_at !== null
    })
    expect(lost.other.state.snapshots.has(backup)).toBe(true)
  })

  it('is not made if it is deleted while the backup is brought', async () => {
    await lost.storeBackup()
    lost.other.onMove = async (step) => {
      if (step === 'import-snapshot') await lost.ask('DELETE')
      return undefined
    }
    await lost.remove()
    await eventually(async () => (await lost.moves()).some(({ state }) => state === 'failed'))
    await eventually(() => !lost.other.state.sandboxes.has(lost.id))
    expect((await lost.ask('GET')).status).toBe(404)
  })
})
