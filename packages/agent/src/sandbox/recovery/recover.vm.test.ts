import { randomUUID } from 'node:crypto'
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { Deadline } from '@offshoot/kit/deadline'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { runProgram } from '../../machine/host/run-program.ts'
import { AgentProcess, eventually } from '../../test/agent-process.ts'

/** Tested moments of a kill, in milliseconds. OFFSHOOT_KILL_MOMENTS=all: one every 14 ms. */
const MOMENTS =
  process.env['OFFSHOOT_KILL_MOMENTS'] === 'all' ? Array.from({ length: 14 }, (_unused, n) => n * 14) : [90, 180]

let agent: AgentProcess
beforeAll(async () => {
  agent = await AgentProcess.create()
  await agent.prepare()
  await agent.start()
})
// The next test gets this agent without sandboxes, or a new one.
afterEach(async () => {
  if ((await isEmpty()) && (await readdir(join(agent.dataDir, 'quarantine'))).length === 0) return
  await agent.reset()
  await agent.start()
})
afterAll(() => agent.destroy())

/** Deletes the sandboxes, which takes less CPU time than a new agent. @returns whether none is left */
async function isEmpty(): Promise<boolean> {
  const list = await agent.list().catch(() => null)
  for (const { id } of list?.sandboxes ?? []) await agent.delete(id)
  return list !== null && (await agent.list()).sandboxes.length === 0
}

/** Folders, list and processes are consistent, and the log's numbers have no gap. */
async function expectAgreement() {
  const { sandboxes } = await agent.list()
  const running = sandboxes.filter(({ status }) => status === 'running').map(({ id }) => id)
  expect(sandboxes.filter(({ status }) => status === 'creating')).toEqual([])
  expect(new Set(await agent.folders())).toEqual(new Set(sandboxes.map(({ id }) => id)))
  const folders = (await agent.vms()).map(({ folder }) => folder.split('/').at(-2))
  expect(folders).toHaveLength(running.length)
  expect(new Set(folders)).toEqual(new Set(running))
  const records = await agent.records()
  expect(records.map(({ seq }) => seq)).toEqual(records.map((_record, index) => index + 1))
  for (const id of running) {
    expect((await agent.exec(id, { cmd: 'hostname' })).body.stdout).toBe(`sbx-${id.slice(0, 8)}\n`)
    expect((await agent.events(id)).at(-1)).toBe('sandbox.running')
  }
}

describe('an agent that was killed', () => {
  it('adopts its VMs, which never stopped running', async () => {
    const { id } = await agent.created({ KEPT: 'yes' })
    const counting = 'i=0; while :; do i=$((i+1)); echo $i > /tmp/count; sleep 0.05; done'
    await agent.exec(id, { cmd: `(${counting}) > /dev/null 2>&1 &` })
    // Nobody sets the clock of a guest that runs, because a step of the host's would become one of the guest's.
    await agent.exec(id, { cmd: 'date -s 2001-02-03' })
    const count = async () => Number((await agent.exec(id, { cmd: 'cat /tmp/count' })).body.stdout)
    const before = await eventually('the counter', async () => (await count()) || null)
    const [vm] = await agent.vms()
    await agent.stop('SIGKILL')
    await agent.start()
    expect(await agent.vms()).toEqual([vm])
    const after = await eventually('a higher count', async () => {
      const now = await count()
      return now > before && now
    })
    // A new loop would count from the beginning.
    expect(after).toBeGreaterThan(before)
    expect((await agent.exec(id, { cmd: 'echo $KEPT; date +%Y' })).body.stdout).toBe('yes\n2001\n')
    await expectAgreement()
    expect((await agent.delete(id)).status).toBe(204)
    await expectAgreement()
  })

  it('adopts them after a graceful shutdown, too', { tags: ['faults'] }, async () => {
    const { id } = await agent.created()
    await agent.stop('SIGTERM')
    expect(await agent.vms()).toHaveLength(1)
    await agent.start()
    await expectAgreement()
    expect(await agent.events(id)).toEqual(['sandbox.running'])
  })

  it(
    'kills a command in the guest whose caller was disconnected by the death of its predecessor',
    { tags: ['faults'] },
    async () => {
      const { id } = await agent.created()
      const answer = agent.exec(id, { cmd: 'echo $$ > /tmp/pid; sleep 600' }).catch(() => 'cut off')
      const pid = await eventually(
        'the command',
        async () => (await agent.exec(id, { cmd: 'cat /tmp/pid' })).body.stdout.trim() || null,
      )
      await agent.stop('SIGKILL')
      expect(await answer).toBe('cut off')
      await agent.start()
      await eventually(
        'its end',
        async () => (await agent.exec(id, { cmd: `test -d /proc/${pid}` })).body.exit_code !== 0,
      )
    },
  )

  it.each(MOMENTS)(
    'is consistent after a kill %i ms into two creates and a delete',
    { tags: ['faults'] },
    async (ms) => {
      const { id } = await agent.created()
      const calls = [agent.create(), agent.create(), agent.delete(id)].map((call) => call.catch(() => 'cut off'))
      await wait(ms)
      await agent.stop('SIGKILL')
      await Promise.all(calls)
      await agent.start()
      await expectAgreement()
      for (const sandbox of (await agent.list()).sandboxes) expect((await agent.delete(sandbox.id)).status).toBe(204)
      await expectAgreement()
      expect(await agent.vms()).toEqual([])
    },
  )
})

describe('an agent at its start', () => {
  it('fails a sandbox whose VM is gone', async () => {
    const { id } = await agent.created()
    await agent.stop('SIGKILL')
    for (const { process: vm } of await agent.vms()) process.kill(vm.pid, 'SIGKILL')
    await eventually('no QEMU', async () => (await agent.vms()).length === 0)
    await agent.start()
    expect(await agent.events(id)).toEqual(['sandbox.running', 'recover.orphaned'])
    expect((await agent.list()).sandboxes).toMatchObject([{ id, status: 'failed' }])
    await agent.stop('SIGKILL')
    await agent.start()
    expect(await agent.events(id)).toEqual(['sandbox.running', 'recover.orphaned'])
    await expectAgreement()
  })

  it('ends a VM without a manifest', { tags: ['faults'] }, async () => {
    const { id } = await agent.created()
    await agent.stop('SIGKILL')
    await rm(join(agent.dataDir, 'sandboxes', id, 'manifest.json'))
    await agent.start()
    expect(await agent.events(id)).toEqual(['sandbox.running', 'recover.unmanaged'])
    await expectAgreement()
    expect(await agent.vms()).toEqual([])
  })

  it('ends a VM whose folder is gone', { tags: ['faults'] }, async () => {
    const { id } = await agent.created()
    await agent.stop('SIGKILL')
    await rm(join(agent.dataDir, 'sandboxes', id), { recursive: true })
    await agent.start()
    expect(await agent.vms()).toEqual([])
    await expectAgreement()
  })

  it('removes unfinished folders, keeps one with a damaged manifest, and ignores other folders', async () => {
    await agent.stop('SIGKILL')
    const sandboxes = join(agent.dataDir, 'sandboxes')
    await mkdir(join(sandboxes, randomUUID()))
    const damaged = randomUUID()
    await mkdir(join(sandboxes, damaged))
    await writeFile(join(sandboxes, damaged, 'manifest.json'), '{"id":')
    await mkdir(join(sandboxes, 'notes'))
    await agent.start()
    expect(new Set(await agent.folders())).toEqual(new Set([damaged, 'notes']))
    expect((await agent.list()).unreadable).toEqual([damaged])
    await agent.stop()
    for (const name of [damaged, 'notes']) await rm(join(sandboxes, name), { recursive: true })
    await agent.start()
  })

  it.each([
    ['gone', (path: string) => rm(path)],
    ['damaged', (path: string) => writeFile(path, '')],
  ])(
    'bakes again if the record of a bake is %s, and keeps the memory that sandboxes need',
    { tags: ['long'] },
    async (_what, damage) => {
      const bakes = join(agent.dataDir, 'bakes', 'minimal')
      const { id: hibernated } = await agent.created()
      await agent.sh(hibernated, 'echo precious > /dev/shm/kept || echo precious > /run/kept')
      const sums = await agent.sh(hibernated, 'busybox cat /dev/shm/kept /run/kept 2>/dev/null')
      expect((await agent.act(hibernated, 'hibernate')).status).toBe(200)
      const before = await readdir(bakes)
      const { bake } = JSON.parse(
        await readFile(join(agent.dataDir, 'sandboxes', hibernated, 'manifest.json'), 'utf8'),
      ) as { bake: string }
      await agent.stop()
      await damage(join(agent.dataDir, 'bakes', bake, 'bake.json'))
      await agent.start()
      expect(await readdir(bakes)).toEqual(expect.arrayContaining(before))
      const { id } = await agent.created()
      expect((await agent.delete(id)).status).toBe(204)
      expect((await agent.act(hibernated, 'wake')).status).toBe(200)
      expect(await agent.sh(hibernated, 'busybox cat /dev/shm/kept /run/kept 2>/dev/null')).toBe(sums)
      expect(sums).toBe('precious')
      expect((await agent.delete(hibernated)).status).toBe(204)
      // No sandbox needs the first bake any more.
      await agent.stop()
      await agent.start()
      expect(await readdir(bakes)).toHaveLength(1)
    },
  )
})

describe('two agents on one data directory', () => {
  it('exclude each other', { tags: ['faults'] }, async () => {
    const second = await AgentProcess.create(agent.folder)
    const { exitCode, output } = await second.run('main.ts')
    expect(exitCode).toBe(1)
    expect(output).toContain('another agent uses')
    expect((await agent.call('GET', '/v1/agent', { workspace: null })).status).toBe(200)
  })
})

describe('end-all', () => {
  it('ends every VM, logs it, and is idempotent', { tags: ['long'] }, async () => {
    const first = await agent.created()
    const second = await agent.created()
    await agent.stop()
    await mkdir(join(agent.dataDir, 'sandboxes', randomUUID()))
    expect(await agent.run('end-all.ts')).toMatchObject({ exitCode: 0 })
    expect(await agent.vms()).toEqual([])
    expect(await agent.run('end-all.ts')).toMatchObject({ exitCode: 0 })
    await agent.start()
    expect((await agent.list()).sandboxes.map(({ status }) => status)).toEqual(['failed', 'failed'])
    for (const { id } of [first, second]) expect(await agent.events(id)).toEqual(['sandbox.running', 'vm.died'])
    await expectAgreement()
  })
})

/** A refused create leaves nothing behind. */
async function expectNothing(refused: () => Promise<void>) {
  const records = await agent.records()
  await refused()
  expect(await agent.folders()).toEqual([])
  expect(await agent.vms()).toEqual([])
  expect(await agent.records()).toEqual(records)
}

describe('a create that cannot succeed', () => {
  it('leaves nothing behind, and logs the reason', async () => {
    const bakes = join(agent.dataDir, 'bakes', 'minimal')
    const [fingerprint = ''] = await readdir(bakes)
    const state = join(bakes, fingerprint, 'state')
    const good = await readFile(state)
    await rm(state)
    await writeFile(state, 'not a device state')
    try {
      await expectNothing(async () => {
        const { status, body } = await agent.create()
        expect(status).toBe(500)
        expect(body).toMatchObject({ error: 'sandbox could not be started' })
        await eventually('the reason in the log', async () => agent.log.includes('QEMU ended with'))
      })
    } finally {
      await rm(state)
      await writeFile(state, good, { mode: 0o400 })
    }
  })

  it.skipIf(process.getuid?.() !== 0)('answers 507 on a full disk', async () => {
    const sandboxes = join(agent.dataDir, 'sandboxes')
    // Room for the folders, but not for a disk layer.
    await runProgram(
      'mount',
      ['-t', 'tmpfs', '-o', 'size=64k', 'offshoot-test', sandboxes],
      Deadline.after(10_000, 'mount'),
    )
    try {
      await expectNothing(async () => {
        const { status, body } = await agent.create()
        expect({ status, body }).toEqual({ status: 507, body: { error: 'insufficient host storage for sandbox' } })
      })
    } finally {
      await agent.stop('SIGKILL')
      await runProgram('umount', [sandboxes], Deadline.after(10_000, 'mount'))
    }
  })
})
