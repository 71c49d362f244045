import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Deadline } from '@offshoot/kit/deadline'
import { QmpClient } from '@offshoot/qmp/client'
import { Offshoot } from '../tests/setup/offshoot.ts'
import { until } from '../tests/setup/until.ts'
import { BaselineVm } from './baseline-vm.ts'
import { hold } from './cleanup.ts'
import { type Figure, rounds, Samples } from './measure.ts'
import { recipeOf } from './sandbox-benches.ts'

const TEMPLATE = 'base'
const WITHIN_MS = 60_000
/** After these, the pool makes a zygote (`pool.ts`). */
const CREATES_FOR_ZYGOTE = 3

/** Whether the warm pool has a VM; `copy`: one that is a copy of a zygote. */
async function isReady(offshoot: Offshoot, kind: 'any' | 'copy' = 'any'): Promise<boolean> {
  const config = await readFile(join(offshoot.dataDir, 'config/agent.json'), 'utf8')
  const { listen } = JSON.parse(config) as { listen: { port: number } }
  const text = await (await fetch(`http://127.0.0.1:${listen.port}/metrics`)).text()
  const name = kind === 'copy' ? 'offshoot_agent_zygote_copies' : 'offshoot_agent_spares'
  return new RegExp(`^${name}\\{template="${TEMPLATE}"\\} [1-9]`, 'm').test(text)
}

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
      await until('a guest that waits', async () => isReady(offshoot), WITHIN_MS)
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
  const offshoot = Offshoot.prepare('bench-zygote', { templates: [TEMPLATE], env: { OFFSHOOT_POOL_MIB: '512' } })
  const release = hold(async () => offshoot.destroy())
  const [first, firstFloor, node, nodeFloor] = [new Samples(), new Samples(), new Samples(), new Samples()]
  try {
    await offshoot.up()
    for (let i = 0; i < CREATES_FOR_ZYGOTE; i++)
      await offshoot.delete((await offshoot.create({ template: TEMPLATE })).id)
    for (const _round of rounds(n, 90_000)) {
      await untilCopy(offshoot)
      const { id: fresh } = await offshoot.create({ template: TEMPLATE })
      for (const samples of [first, firstFloor]) await samples.time(async () => offshoot.exec(fresh, 'true'))
      await offshoot.delete(fresh)
      let id = ''
      await untilCopy(offshoot)
      await node.time(async () => {
        id = (await offshoot.create({ template: TEMPLATE })).id
        await offshoot.exec(id, 'node -v')
      })
      await nodeFloor.time(async () => offshoot.exec(id, 'node -v'))
      await offshoot.delete(id)
    }
  } finally {
    await release()
  }
  return { first_exec_pool: first.figure('ms', firstFloor.p50), node_v_pool: node.figure('ms', nodeFloor.p50) }
}

async function untilCopy(offshoot: Offshoot): Promise<void> {
  await until('a copy that waits', async () => isReady(offshoot, 'copy'), WITHIN_MS)
}
