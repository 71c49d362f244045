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

/** Whether the warm pool has a VM. */
async function isReady(offshoot: Offshoot): Promise<boolean> {
  const config = await readFile(join(offshoot.dataDir, 'config/agent.json'), 'utf8')
  const { listen } = JSON.parse(config) as { listen: { port: number } }
  const text = await (await fetch(`http://127.0.0.1:${listen.port}/metrics`)).text()
  return text.includes(`offshoot_agent_spares{template="${TEMPLATE}"}`)
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
