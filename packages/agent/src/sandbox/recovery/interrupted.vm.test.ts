import { randomUUID } from 'node:crypto'
import { mkdir, readdir, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import type { AgentSandbox, AgentSnapshotList } from '@offshoot/contract/agent-api'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { AgentProcess, eventually } from '../../test/agent-process.ts'

/** OFFSHOOT_KILL_MOMENTS=all: every moment, not only the middle one. */
const isAll = process.env['OFFSHOOT_KILL_MOMENTS'] === 'all'
const some = (moments: readonly number[]) => moments.filter((_ms, n) => isAll || n === Math.floor(moments.length / 2))

let agent: AgentProcess
beforeAll(async () => {
  agent = await AgentProcess.create()
  await agent.start()
})
// Every test leaves a running agent without sandboxes. After a failed one, the next test gets a new agent.
afterEach(async () => {
  const list = await agent.list().catch(() => null)
  if (list?.sandboxes.length === 0) return
  await agent.reset()
  await agent.start()
})
afterAll(() => agent.destroy())

const STATE_OF: Record<string, string> = {
  'sandbox.running': 'running',
  'sandbox.resumed': 'running',
  'sandbox.woken': 'running',
  'sandbox.paused': 'paused',
  'sandbox.hibernated': 'hibernated',
  'vm.died': 'failed',
  'recover.orphaned': 'failed',
}

async function statusOf(id: string): Promise<string> {
  return (await agent.call<AgentSandbox>('GET', `/v1/sandboxes/${id}`)).body.status
}

/** Folders, list, processes and events are consistent. */
async function expectAgreement() {
  const { sandboxes } = await agent.list()
  expect(new Set(await agent.folders())).toEqual(new Set(sandboxes.map(({ id }) => id)))
  const alive = sandboxes.filter(({ status }) => status === 'running' || status === 'paused').map(({ id }) => id)
  const processes = (await agent.vms()).map(({ folder }) => folder.split('/').at(-2))
  expect(processes).toHaveLength(alive.length)
  expect(new Set(processes)).toEqual(new Set(alive))
  for (const { id, status } of sandboxes) {
    const last = (await agent.events(id)).findLast((type) => type in STATE_OF)
    expect([id, STATE_OF[last ?? '']]).toEqual([id, status])
  }
  const records = await agent.records()
  expect(records.map(({ seq }) => seq)).toEqual(records.map((_record, index) => index + 1))
}

/** Every sandbox runs, has its identity and its data, and can be deleted without leftovers. */
async function expectWhole() {
  await expectAgreement()
  for (const { id, status } of (await agent.list()).sandboxes) {
    if (status === 'paused') expect((await agent.act(id, 'resume')).status).toBe(200)
    expect(await agent.sh(id, 'cat /run/memory /root/file; hostname')).toBe(
      `remembered\nwritten\nsbx-${id.slice(0, 8)}`,
    )
    const before = Number(await agent.sh(id, 'wc -l < /run/count'))
    await eventually('a counter that counts', async () => Number(await agent.sh(id, 'wc -l < /run/count')) > before)
    expect((await agent.delete(id)).status).toBe(204)
  }
  const { body } = await agent.call<AgentSnapshotList>('GET', '/v1/snapshots', { workspace: null })
  for (const { id } of body.snapshots) expect((await agent.call('DELETE', `/v1/snapshots/${id}`)).status).toBe(204)
  await eventually('no layer', async () => (await agent.layers()).length === 0)
  // A launcher ends a moment after its QEMU.
  await eventually('no VM', async () => (await agent.vms()).length === 0)
}

async function remembering(): Promise<string> {
  const { id } = await agent.created()
  await agent.sh(id, 'echo remembered > /run/memory; echo written > /root/file')
  await agent.sh(id, '(while :; do echo x >> /run/count; sleep 0.02; done) >/dev/null 2>&1 &')
  return id
}

const children = () => [0, 1].map((index) => ({ id: randomUUID(), index }))

describe('an agent that is killed in the middle of', () => {
  const cases = {
    pause: async (id: string) => agent.act(id, 'pause'),
    resume: async (id: string) => agent.act(id, 'resume'),
    hibernate: async (id: string) => agent.act(id, 'hibernate'),
    'hibernate again': async (id: string) => agent.act(id, 'hibernate'),
    wake: async (id: string) => agent.act(id, 'wake'),
    snapshots: async (id: string) => agent.act(id, 'snapshots', { id: randomUUID() }),
    fork: async (id: string) => agent.act(id, 'fork', { snapshot_id: randomUUID(), children: children() }),
  }
  const moments: [keyof typeof cases, number][] = [
    ...some([2, 6]).flatMap((ms): [keyof typeof cases, number][] => [
      ['pause', ms],
      ['resume', ms],
    ]),
    ...some([8, 16, 28, 44]).flatMap((ms): [keyof typeof cases, number][] => [
      ['hibernate', ms],
      ['snapshots', ms],
    ]),
    ...some([20, 36]).map((ms): [keyof typeof cases, number] => ['hibernate again', ms]),
    ...some([5, 60, 85, 105]).map((ms): [keyof typeof cases, number] => ['wake', ms]),
    ...some([10, 40, 90, 130, 180]).map((ms): [keyof typeof cases, number] => ['fork', ms]),
  ]
  it.each(moments)(
    '%s, after %i ms, leaves the state before the operation or after it',
    { tags: ['faults'] },
    async (what, ms) => {
      const id = await remembering()
      if (what === 'resume') await agent.act(id, 'pause')
      if (what === 'wake' || what === 'hibernate again') await agent.act(id, 'hibernate')
      if (what === 'hibernate again') await agent.act(id, 'wake')
      const before = await statusOf(id)
      const answer = cases[what](id).then(
        ({ status }) => status,
        () => 'cut off',
      )
      await wait(ms)
      await agent.stop('SIGKILL')
      const answered = await answer
      await agent.start()
      await expectAgreement()
      const after =
        {
          pause: 'paused',
          resume: 'running',
          hibernate: 'hibernated',
          'hibernate again': 'hibernated',
          wake: 'running',
        }[what as 'pause'] ?? before
      const now = await statusOf(id)
      if (answered === 200) expect(now).toBe(after)
      else expect([before, after]).toContain(now)
      await expectWhole()
    },
  )
})

describe('at its start an agent', () => {
  it(
    'keeps paused and hibernated sandboxes as they are, and fails one whose VM is gone',
    { tags: ['faults'] },
    async () => {
      const ids = [await remembering(), await remembering(), await remembering()] as const
      const [paused, hibernated, gone] = ids
      for (const id of [paused, gone]) await agent.act(id, 'pause')
      await agent.act(hibernated, 'hibernate')
      await agent.stop('SIGKILL')
      for (const { process: vm, folder } of await agent.vms())
        if (folder.includes(gone)) process.kill(vm.pid, 'SIGKILL')
      await eventually('its end', async () => (await agent.vms()).length === 1)
      await agent.start()
      expect(await Promise.all(ids.map(statusOf))).toEqual(['paused', 'hibernated', 'failed'])
      expect((await agent.events(gone)).at(-1)).toBe('recover.orphaned')
      await agent.delete(gone)
      await expectWhole()
    },
  )

  it('hibernates a sandbox over the base that the killed agent left', { tags: ['long'] }, async () => {
    const id = await remembering()
    await agent.act(id, 'hibernate')
    await agent.act(id, 'wake')
    await agent.stop('SIGKILL')
    await agent.start()
    await agent.act(id, 'hibernate')
    const folder = join(agent.dataDir, 'sandboxes', id)
    expect(await readdir(join(folder, 'hibernation'))).toContain('base-0.pages')
    await eventually('removal of the base', async () => !(await readdir(folder)).includes('memory-base'))
    await agent.act(id, 'wake')
    await agent.stop('SIGKILL')
    // As if it had been killed between the commit of a wake and the end of it: nobody knows what these files are.
    await rename(join(folder, 'memory-base'), join(folder, 'hibernation'))
    await agent.start()
    await agent.act(id, 'hibernate')
    expect(await readdir(join(folder, 'hibernation'))).not.toContain('base-0.pages')
    await expectWhole()
  })

  it('announces the changes that the killed agent had not announced', async () => {
    const id = await remembering()
    await agent.act(id, 'pause')
    await agent.stop('SIGKILL')
    // As if the agent had been killed between the manifest and the log.
    const path = join(agent.dataDir, 'sandboxes', id, 'manifest.json')
    await writeFile(path, (await readFile(path, 'utf8')).replace('"paused"', '"running"'))
    await agent.start()
    expect(await statusOf(id)).toBe('running')
    expect((await agent.events(id)).at(-1)).toBe('sandbox.resumed')
    await expectWhole()
  })

  it('removes folders of unfinished snapshots, and layers that nothing needs', async () => {
    await agent.stop()
    const snapshot = join(agent.dataDir, 'snapshots', randomUUID())
    await mkdir(snapshot)
    for (const name of ['begun.json', 'pages']) await writeFile(join(snapshot, name), '')
    await writeFile(join(agent.dataDir, 'layers', `${'0'.repeat(24)}.qcow2`), '')
    await agent.start()
    expect(await readdir(join(agent.dataDir, 'snapshots'))).toEqual([])
    expect(await agent.layers()).toEqual([])
  })

  it('ends every VM if it is asked to, and keeps hibernated sandboxes hibernated', { tags: ['faults'] }, async () => {
    const awake = await remembering()
    const asleep = await remembering()
    await agent.act(asleep, 'hibernate')
    await agent.act(awake, 'pause')
    await agent.stop()
    expect(await agent.run('end-all.ts')).toMatchObject({ exitCode: 0 })
    expect(await agent.vms()).toEqual([])
    await agent.start()
    expect(await Promise.all([awake, asleep].map(statusOf))).toEqual(['failed', 'hibernated'])
    await agent.delete(awake)
    await expectWhole()
  })
})
