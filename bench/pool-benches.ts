import { join } from 'node:path'
import { Deadline } from '@offshoot/kit/deadline'
import { QmpClient } from '@offshoot/qmp/client'
import { Offshoot } from '../tests/setup/offshoot.ts'
import { hasSpare } from '../tests/setup/spares.ts'
import { until } from '../tests/setup/until.ts'
import { BaselineVm } from './baseline-vm.ts'
import { hold } from './cleanup.ts'
import { answeringDatabase, removeDatabase, selectOne } from './database-benches.ts'
import { type Figure, rounds, Samples } from './measure.ts'
import { recipeOf } from './sandbox-benches.ts'
import { untilCopy, withZygote } from './with-zygote.ts'

const TEMPLATE = 'base'
const DATABASE_TEMPLATE = 'postgres-16'
const WITHIN_MS = 60_000

/** Resumes a stopped guest and waits for its answer. */
async function continueByHand(vm: BaselineVm, qmp: QmpClient, samples: Samples): Promise<void> {
  const deadline = Deadline.after(WITHIN_MS, 'floor of create_pool')
  await qmp.execute('stop', {}, deadline)
  await samples.time(async () => Promise.all([qmp.execute('cont', {}, deadline), vm.link.ping(deadline)]))
}

/**
 * From the POST to the 201 with a VM in the warm pool. It uses its own server, because the other benches run without a
 * pool: refills of the pool would disturb them. Floor: resuming a stopped guest.
 */
export async function createFromPool(_others: Offshoot, n = 40): Promise<Record<string, Figure>> {
  const offshoot = Offshoot.prepare('bench-pool', { templates: [TEMPLATE], env: { OFFSHOOT_POOL_MIB: '512' } })
  const release = hold(async () => offshoot.destroy())
  const [create, floor] = [new Samples(), new Samples()]
  try {
    await offshoot.up()
    const baseline = await BaselineVm.restore(await recipeOf(offshoot))
    const deadline = Deadline.after(WITHIN_MS, 'create_pool')
    const qmp = await QmpClient.connect(join(baseline.folder, 'qmp.sock'), deadline)
    for (const _round of rounds(n)) {
      await until('a guest that waits', async () => hasSpare(offshoot, TEMPLATE), WITHIN_MS)
      const made = await create.time(async () => {
        const sandbox = await offshoot.create({ template: TEMPLATE })
        if (sandbox['boot_mode'] !== 'pool') throw new Error(`made by ${String(sandbox['boot_mode'])}`)
        return sandbox
      })
      if (made) await offshoot.delete(made.id)
      await continueByHand(baseline, qmp, floor)
    }
    qmp.close()
    await baseline.kill()
  } finally {
    await release()
  }
  return { create_pool: create.figure('ms', floor.p50) }
}

/**
 * The first command in a sandbox from the warm pool, when that has copies of a zygote. `node_v_pool`: from the POST of the sandbox
 * to the first output of `node -v`. Floor: the same command again in the same sandbox.
 */
export async function firstCommandsFromPool(_others: Offshoot, n = 40): Promise<Record<string, Figure>> {
  const [first, firstFloor, node, nodeFloor] = [new Samples(), new Samples(), new Samples(), new Samples()]
  await withZygote(TEMPLATE, async (offshoot) => {
    for (const _round of rounds(n, 90_000)) {
      await untilCopy(offshoot, TEMPLATE)
      const { id: fresh } = await offshoot.create({ template: TEMPLATE })
      for (const samples of [first, firstFloor]) await samples.time(async () => offshoot.exec(fresh, 'true'))
      await offshoot.delete(fresh)
      let id = ''
      await untilCopy(offshoot, TEMPLATE)
      await node.time(async () => {
        id = (await offshoot.create({ template: TEMPLATE })).id
        await offshoot.exec(id, 'node -v')
      })
      await nodeFloor.time(async () => offshoot.exec(id, 'node -v'))
      await offshoot.delete(id)
    }
  })
  return { first_exec_pool: first.figure('ms', firstFloor.p50), node_v_pool: node.figure('ms', nodeFloor.p50) }
}

/**
 * From the POST of a database to its first row, when the warm pool has copies of a zygote. Floor: the first row of another connection.
 */
export async function databaseFromPool(_others: Offshoot, n = 20): Promise<Record<string, Figure>> {
  const [made, floor] = [new Samples(), new Samples()]
  await withZygote(DATABASE_TEMPLATE, async (offshoot) => {
    for (const _round of rounds(n, 90_000)) {
      await untilCopy(offshoot, DATABASE_TEMPLATE)
      const database = await made.time(async () => answeringDatabase(offshoot))
      if (database === null) continue
      await floor.time(async () => selectOne(database))
      await removeDatabase(offshoot, database)
    }
  })
  return { db_create_pool: made.figure('ms', floor.p50) }
}
