import { open, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { Deadline } from '@offshoot/kit/deadline'
import { QmpClient } from '@offshoot/qmp/client'
import type { Offshoot } from '../tests/setup/offshoot.ts'
import { layOwnPages } from './baseline-memory.ts'
import { BaselineVm, type Recipe } from './baseline-vm.ts'
import { type Figure, rounds, Samples } from './measure.ts'
import { inSandbox, recipeOf } from './sandbox-benches.ts'

const MIB = 1024 * 1024
const BASELINE_MS = 60_000
/** Creates private memory that never changes again. */
const WORK = 'head -c 67108864 /dev/urandom > /dev/shm/memory'

/** Bytes that the process has written to disks so far. */
async function writtenBy(pid: number): Promise<number> {
  return Number(/^write_bytes: (\d+)$/m.exec(await readFile(`/proc/${pid}/io`, 'utf8'))?.[1])
}

/** Bytes on disk of the layer that a hibernation froze, which QEMU wrote. */
async function frozenLayer(agentDir: string, id: string): Promise<number> {
  const manifest = JSON.parse(await readFile(join(agentDir, 'sandboxes', id, 'manifest.json'), 'utf8')) as {
    layers: string[]
  }
  return (await stat(join(agentDir, 'layers', `${manifest.layers.at(-1)}.qcow2`))).blocks * 512
}

/** The floor: stop the guest, write its devices and its private pages to disk, end QEMU. */
async function hibernateByHand(recipe: Recipe, vm: BaselineVm): Promise<void> {
  const deadline = Deadline.after(BASELINE_MS, 'baseline hibernation')
  const qmp = await QmpClient.connect(join(vm.folder, 'qmp.sock'), deadline)
  const [state, pages] = [join(vm.folder, 'state'), join(vm.folder, 'pages')]
  await qmp.execute('stop', {}, deadline)
  await qmp.execute('xen-save-devices-state', { filename: state, live: false }, deadline)
  for (const path of [state, pages]) {
    const file = await open(path, path === state ? 'r' : 'w')
    if (path === pages) layOwnPages(vm.pid, join(recipe.bake, 'memory'), recipe.memoryBytes, pages)
    await file.sync()
    await file.close()
  }
  qmp.close()
  await vm.kill()
}

/**
 * Wakes a sandbox and hibernates it again, without any activity in between. Measures the time of the POST, and the
 * bytes that the agent writes for the hibernation. The floor for the bytes is a capture by hand, of a guest that was
 * just restored from its template.
 */
export async function hibernateAgain(offshoot: Offshoot, n = 20): Promise<Record<string, Figure>> {
  const recipe = await recipeOf(offshoot)
  const agent = await offshoot.service('agent')
  if (agent === null) throw new Error('no agent')
  const [again, written, byHand] = [new Samples(), new Samples(), new Samples()]
  await inSandbox(offshoot, async (id) => {
    const post = async (change: string) => {
      const answer = await offshoot.request('POST', `/v1/sandboxes/${id}/${change}`, { body: {} })
      if (answer.status !== 200) throw new Error(`${change} answered ${answer.status}: ${answer.text}`)
    }
    await offshoot.exec(id, WORK)
    await post('hibernate')
    for (const _round of rounds(n)) {
      await post('wake')
      const before = await writtenBy(agent.pid)
      await again.time(async () => post('hibernate'))
      const layer = await frozenLayer(join(offshoot.dataDir, 'agent'), id)
      written.add(((await writtenBy(agent.pid)) - before + layer) / MIB)
      const baseline = await BaselineVm.running(recipe)
      await byHand.time(async () => hibernateByHand(recipe, baseline))
    }
  })
  return { hibernate_again: again.figure('ms', byHand.p50), hibernate_again_mib: written.figure('MiB') }
}
