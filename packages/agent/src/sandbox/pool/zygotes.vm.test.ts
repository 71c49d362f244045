import { readFile, readlink } from 'node:fs/promises'
import { join } from 'node:path'
import type { SandboxMetrics } from '@offshoot/contract/sandbox-metrics'
import { isAlive, signalProcess } from '@offshoot/kit/process-identity'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { ownMemoryMib } from '../../machine/host/process-memory.ts'
import { runProgram } from '../../machine/host/run-program.ts'
import { Deadline } from '@offshoot/kit/deadline'
import { openDescriptors } from '../../machine/vm/open-descriptors.ts'
import { AgentProcess, eventually } from '../../test/agent-process.ts'
import { NAMESPACES, ZygoteCopies } from '../../test/zygote-copies.ts'

const MIB = 1024 * 1024
const ROUNDS = process.env['OFFSHOOT_ZYGOTE_ROUNDS'] ?? '10'

let agent: AgentProcess
let zygotes: ZygoteCopies
beforeAll(async () => {
  agent = await AgentProcess.create(undefined, { pool_memory_mib: 1024 })
  zygotes = new ZygoteCopies(agent)
})
beforeEach(async () => {
  await agent.reset()
  await agent.start()
  await zygotes.make()
})
afterAll(() => agent.destroy())

async function statusOf(pid: number): Promise<Map<string, string>> {
  const lines = (await readFile(`/proc/${pid}/status`, 'utf8')).split('\n')
  return new Map(lines.map((line) => [line.split(':')[0] ?? '', line.split(':')[1]?.trim() ?? '']))
}

describe('a copy of a zygote', () => {
  it('is like any other sandbox: own identity, variables and randomness; works through its whole life', async () => {
    const first = await zygotes.taken({ OWN: 'yes' })
    const second = await zygotes.taken()
    const seen = await Promise.all(
      [first, second].map(({ id }) =>
        agent.sh(
          id,
          'hostname; cat /etc/machine-id /sys/class/net/eth0/address; echo "own=$OWN"; head -c 16 /dev/urandom | xxd -p',
        ),
      ),
    )
    const [one = [], two = []] = seen.map((text) => text.split('\n'))
    expect([one[0], one[1], one[3]]).toEqual([`sbx-${first.id.slice(0, 8)}`, first.id.replaceAll('-', ''), 'own=yes'])
    expect([two[0], two[3]]).toEqual([`sbx-${second.id.slice(0, 8)}`, 'own='])
    expect(one[2]).not.toBe(two[2])
    expect(one[4]).not.toBe(two[4])
    await agent.sh(first.id, 'echo remembered > /run/memory; echo written > /root/file')
    for (const change of ['pause', 'resume', 'hibernate', 'wake'])
      expect((await agent.act(first.id, change)).status).toBe(200)
    const told = 'cat /run/memory /root/file'
    expect(await agent.sh(first.id, told)).toBe('remembered\nwritten')
    await agent.sh(second.id, 'echo second > /root/file')
    const [child] = (await agent.forked(second.id)).children
    expect(await agent.sh(child?.id ?? '', 'cat /root/file')).toBe('second')
    expect((await agent.act(second.id, 'hibernate')).status).toBe(200)
    expect(await agent.sh(second.id, 'cat /root/file')).toBe('second')
    for (const id of [first.id, second.id, child?.id ?? '']) expect((await agent.delete(id)).status).toBe(204)
  })

  it('is made for each of many creates at once', { tags: ['faults'] }, async () => {
    const made = await Promise.all(Array.from({ length: 8 }, async () => agent.created()))
    const copies = new Set((await zygotes.parts()).copies.map(({ folder }) => folder))
    expect(made.filter((sandbox) => !copies.has(zygotes.folderOf(sandbox)))).toEqual([])
    const names = await Promise.all(made.map(async ({ id }) => agent.sh(id, 'hostname')))
    expect(names).toEqual(made.map(({ id }) => `sbx-${id.slice(0, 8)}`))
    for (const { id } of made) expect((await agent.delete(id)).status).toBe(204)
  })

  it(
    'has the jail of any other: user, no capabilities, filters, namespaces, and only its own files',
    { tags: ['long'] },
    async () => {
      const sandbox = await zygotes.taken()
      const sibling = await zygotes.taken()
      const [own, other, source] = [
        await zygotes.processOf(sandbox),
        await zygotes.processOf(sibling),
        await zygotes.zygote(),
      ]
      const status = await statusOf(own.process.pid)
      const none = '0'.repeat(16)
      expect(['CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb'].map((set) => status.get(set))).toEqual(
        Array.from({ length: 5 }, () => none),
      )
      expect([status.get('NoNewPrivs'), status.get('Seccomp'), status.get('Groups')]).toEqual(['1', '2', ''])
      // Those of the zygote, of every jail, and of QEMU itself.
      expect(Number(status.get('Seccomp_filters'))).toBe(3)
      expect(status.get('NSpid')?.split(/\s+/).at(-1)).toBe('1')
      const uids = await Promise.all(
        [own, other, source].map(async ({ process: { pid } }) => (await statusOf(pid)).get('Uid')),
      )
      expect(new Set(uids).size).toBe(3)
      for (const namespace of NAMESPACES) {
        const pids = [own.process.pid, other.process.pid, source.process.pid, process.pid]
        const links = await Promise.all(pids.map((pid) => readlink(`/proc/${pid}/ns/${namespace}`)))
        // The zygote itself is in the agent's pid namespace.
        expect(new Set(links).size).toBe(namespace === 'pid' ? 3 : 4)
      }
      expect(await readlink(`/proc/${own.process.pid}/cwd`)).toBe('/vm')
      const [ownInodes, otherInodes] = await Promise.all([own, other].map(async (vm) => zygotes.writableInodes(vm)))
      expect(ownInodes?.filter((inode) => otherInodes?.includes(inode))).toEqual([])
    },
  )

  it('counts only memory that it shares with nobody', { tags: ['long'] }, async () => {
    const sandbox = await zygotes.taken()
    const { pid } = (await zygotes.processOf(sandbox)).process
    const { now } = (await agent.call<SandboxMetrics>('GET', `/v1/sandboxes/${sandbox.id}/metrics`)).body
    const ownBytes = (await ownMemoryMib(pid)) * MIB
    expect(now.memory_host_private_bytes).toBeGreaterThan(0)
    expect(now.memory_host_private_bytes).toBeLessThan(ownBytes / 2)
  })

  it('outlives its zygote, which is replaced', { tags: ['long'] }, async () => {
    const sandbox = await zygotes.taken()
    const { process: before } = await zygotes.zygote()
    signalProcess(before, 'SIGKILL')
    await eventually('the end of the zygote', async () => !(await isAlive(before)))
    expect(await agent.sh(sandbox.id, 'echo alive')).toBe('alive')
    expect((await agent.created()).boot_mode).toMatch(/pool|snapshot/)
  })

  it(
    'outlives its agent, unlike its zygote and the other copies, and is adopted by the next',
    { tags: ['faults'] },
    async () => {
      const sandbox = await zygotes.taken()
      await agent.sh(sandbox.id, 'echo kept > /run/memory')
      await zygotes.wait()
      const { process: source } = await zygotes.zygote()
      const before = await zygotes.processOf(sandbox)
      await agent.stop('SIGKILL')
      await agent.start()
      expect(await agent.sh(sandbox.id, 'cat /run/memory')).toBe('kept')
      expect((await zygotes.processOf(sandbox)).process).toEqual(before.process)
      expect(await isAlive(source)).toBe(false)
      expect(await agent.vms()).toHaveLength(1)
      expect((await agent.act(sandbox.id, 'hibernate')).status).toBe(200)
      expect(await agent.sh(sandbox.id, 'cat /run/memory')).toBe('kept')
      expect((await agent.delete(sandbox.id)).status).toBe(204)
      expect(await agent.vms()).toHaveLength(0)
    },
  )

  it('ends with its launcher', { tags: ['long'] }, async () => {
    const sandbox = await zygotes.taken()
    const { process: vm, launcher } = await zygotes.processOf(sandbox)
    if (launcher !== null) signalProcess(launcher, 'SIGKILL')
    await eventually('the end of the VM', async () => !(await isAlive(vm)))
    const failed = async () => (await agent.list()).sandboxes.find(({ id }) => id === sandbox.id)?.status === 'failed'
    await eventually('a failed sandbox', failed)
  })

  it(`works ${ROUNDS} times in a row, with a disk without errors`, { tags: ['long'] }, async () => {
    for (let round = 0; round < Number(ROUNDS); round++) {
      const sandbox = await zygotes.taken()
      const asked = `echo ${round} > /root/round; sync; cat /root/round`
      expect(await agent.sh(sandbox.id, asked)).toBe(String(round))
      if (round % 10 === 0) {
        expect((await agent.act(sandbox.id, 'pause')).status).toBe(200)
        const { process: vm } = await zygotes.processOf(sandbox)
        const disks = (await openDescriptors(vm)).filter(({ name }) => /^\/vm\/[0-9a-f]{24}\.qcow2$/.test(name))
        for (const { name } of disks)
          await runProgram(
            'qemu-img',
            ['check', '-U', join(zygotes.folderOf(sandbox), name.slice('/vm/'.length))],
            Deadline.after(10_000, 'check of a disk'),
          )
        expect(disks.length).toBeGreaterThan(0)
      }
      expect((await agent.delete(sandbox.id)).status).toBe(204)
    }
    expect((await agent.list()).sandboxes).toEqual([])
  })
})

it('there is none where the configuration forbids it', { tags: ['long'] }, async () => {
  await agent.stop()
  await agent.configure({ zygotes: false })
  await agent.start()
  for (let i = 0; i < 4; i++) await agent.created()
  await eventually('spares', async () => (await zygotes.spares()) >= 4)
  expect((await zygotes.parts()).zygote).toBeUndefined()
  await agent.configure({ zygotes: true })
})
