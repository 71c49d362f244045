import { randomUUID } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { constants } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import type { AgentInfo, AgentSandbox } from '@offshoot/contract/agent-api'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { AgentProcess, eventually } from '../../test/agent-process.ts'
import { clockError } from '../../test/clock-error.ts'
import { nicenessOf } from '../../test/thread-stats.ts'
import { vmLimitMib } from '../../machine/vm/vm-memory.ts'

const GUEST_MIB = 128
/** Tested moments of a kill, in milliseconds. */
const MOMENTS = process.env['OFFSHOOT_KILL_MOMENTS'] === 'all' ? [3, 10] : [10]
let agent: AgentProcess
beforeAll(async () => {
  agent = await AgentProcess.create(undefined, {
    pool_memory_mib: 256,
    zygotes: false,
    commit_limit_mib: 4 * vmLimitMib(GUEST_MIB),
  })
  await agent.start()
})
afterEach(async () => {
  await agent.reset()
  await agent.start()
})
afterAll(() => agent.destroy())

async function info(): Promise<AgentInfo> {
  return (await agent.call<AgentInfo>('GET', '/v1/agent', { workspace: null })).body
}

async function spares(count: number): Promise<void> {
  await eventually(`${count} spares`, async () => (await info()).spares === count)
}

/** A sandbox created from a spare of the warm pool. */
async function fromPool(): Promise<AgentSandbox> {
  await eventually('a spare', async () => (await info()).spares > 0)
  const sandbox = await agent.created()
  expect(sandbox.boot_mode).toBe('pool')
  return sandbox
}

const hasOneSpare = async () => (await info()).spares === 1
const spareFolders = () => readdir(join(agent.dataDir, 'spares'))
const spareProcesses = async () =>
  (await agent.vms()).flatMap(({ folder, process: vm }) => (folder.includes('/spares/') ? [vm] : []))

describe('a sandbox from the pool', () => {
  it('is like new: own identity, current time, its variables, no trace of the spare', async () => {
    expect((await agent.created()).boot_mode).toBe('snapshot')
    await spares(1)
    const [waiting] = await spareFolders()
    const body = { id: randomUUID(), template: 'minimal', env: { OWN: 'yes' } }
    const first = (await agent.call<AgentSandbox>('POST', '/v1/sandboxes', { body })).body
    const second = await fromPool()
    expect(first.boot_mode).toBe('pool')
    expect(await spareFolders()).not.toContain(waiting)
    const seen = await Promise.all(
      [first, second].map(async ({ id }) => {
        const asked =
          'hostname; cat /etc/machine-id /sys/class/net/eth0/address; echo "own=$OWN"; head -c 16 /dev/urandom | xxd -p'
        const [hostname, machineId, mac, own, random] = (await agent.sh(id, asked)).split('\n')
        expect([hostname, machineId]).toEqual([`sbx-${id.slice(0, 8)}`, id.replaceAll('-', '')])
        expect(await clockError(agent, id)).toBeLessThanOrEqual(1)
        expect(await agent.sh(id, `grep -rlF ${waiting} /etc /root /tmp /var 2>/dev/null; echo -`)).toBe('-')
        return { mac, own, random }
      }),
    )
    expect(seen.map(({ own }) => own)).toEqual(['own=yes', 'own='])
    expect(seen[0]?.random).not.toBe(seen[1]?.random)
    expect(seen[0]?.mac).not.toBe(seen[1]?.mac)
    expect(await agent.events(first.id)).toEqual(['sandbox.running'])
  })

  it('can be hibernated, woken, forked, adopted and deleted like any other', { tags: ['long'] }, async () => {
    await agent.created()
    const { id } = await fromPool()
    await agent.sh(id, 'echo remembered > /run/memory; echo written > /root/file')
    const told = 'cat /run/memory /root/file; hostname'
    const expected = `remembered\nwritten\nsbx-${id.slice(0, 8)}`
    for (const change of ['pause', 'resume', 'hibernate', 'wake'])
      expect((await agent.act(id, change)).status).toBe(200)
    expect(await agent.sh(id, told)).toBe(expected)
    const [child] = (await agent.forked(id)).children
    expect(await agent.sh(child?.id ?? '', 'cat /run/memory')).toBe('remembered')
    await agent.stop('SIGKILL')
    await agent.start()
    expect(await agent.sh(id, told)).toBe(expected)
    expect((await agent.delete(id)).status).toBe(204)
  })

  it('is taken by one create only: of many concurrent creates each has its own VM', async () => {
    await agent.created()
    await spares(1)
    const created = await Promise.all(Array.from({ length: 3 }, () => agent.created()))
    expect(created.filter(({ boot_mode: mode }) => mode === 'pool')).toHaveLength(1)
    const names = await Promise.all(created.map(({ id }) => agent.sh(id, 'hostname')))
    expect(names).toEqual(created.map(({ id }) => `sbx-${id.slice(0, 8)}`))
  })
})

describe('spares', () => {
  it('run with low priority only while they are made', { tags: ['long'] }, async () => {
    await agent.created()
    await eventually('a spare with low priority', async () => {
      const [spare] = await spareProcesses()
      if (spare === undefined) return false
      if ((await nicenessOf(spare.pid)).includes(constants.priority.PRIORITY_LOW)) return true
      // It was finished before the test looked: try with the next one.
      if (await hasOneSpare()) process.kill(spare.pid, 'SIGKILL')
      return false
    })
    await eventually('a spare', hasOneSpare)
    const [spare] = await spareProcesses()
    expect(new Set(await nicenessOf(spare?.pid ?? 0))).toEqual(new Set([0]))
  })

  it('end with their agent, also after a kill -9', { tags: ['long'] }, async () => {
    await agent.created()
    await spares(1)
    await agent.stop('SIGTERM')
    expect(await spareFolders()).toEqual([])
    expect(await agent.vms()).toHaveLength(1)
    await agent.start()
    await agent.created()
    await spares(1)
    await agent.stop('SIGKILL')
    expect(await agent.vms()).toHaveLength(3)
    await agent.start()
    expect(await spareFolders()).toEqual([])
    expect(await agent.vms()).toHaveLength(2)
  })

  it('are replaced without leftovers when their VM dies', { tags: ['faults'] }, async () => {
    const { id } = await agent.created()
    await spares(1)
    const [before] = await spareFolders()
    for (const { process: vm, folder } of await agent.vms()) if (!folder.includes(id)) process.kill(vm.pid, 'SIGKILL')
    await eventually(
      'another',
      async () => (await info()).spares === 1 && !(await spareFolders()).includes(before ?? ''),
    )
    await fromPool()
  })

  it('are replaced by a restore if they do not answer', { tags: ['long'] }, async () => {
    await agent.created()
    await spares(1)
    const waiting = (await agent.vms()).find(({ folder }) => folder.includes('/spares/'))?.process ?? { pid: 0 }
    // A stopped QEMU answers neither on its monitor nor on its channel.
    process.kill(waiting.pid, 'SIGSTOP')
    const { id, boot_mode } = await agent.created()
    expect(boot_mode).toBe('snapshot')
    expect(await agent.sh(id, 'hostname')).toBe(`sbx-${id.slice(0, 8)}`)
    expect((await agent.vms()).map(({ process: vm }) => vm.pid)).not.toContain(waiting.pid)
  })

  it.each(MOMENTS)(
    'leave no trace when the agent is killed %d ms into two creates',
    { tags: ['faults'] },
    async (afterMs) => {
      await agent.created()
      await spares(1)
      const ids = [randomUUID(), randomUUID()]
      const answers = ids.map((id) => agent.create(id).catch(() => null))
      await wait(afterMs)
      await agent.stop('SIGKILL')
      const acknowledged = (await Promise.all(answers)).flatMap((answer) =>
        answer?.status === 201 ? [answer.body.id] : [],
      )
      await agent.start()
      const { sandboxes } = await agent.list()
      expect(sandboxes.map(({ id }) => id)).toEqual(expect.arrayContaining(acknowledged))
      expect(await spareFolders()).toEqual([])
      expect(new Set(await agent.folders())).toEqual(new Set(sandboxes.map(({ id }) => id)))
      expect(await agent.vms()).toHaveLength(sandboxes.length)
      for (const { id, status } of sandboxes) {
        expect([status, await agent.sh(id, 'hostname')]).toEqual(['running', `sbx-${id.slice(0, 8)}`])
      }
    },
  )
})

describe('memory', () => {
  it(
    'is refused with 507 before it is overcommitted; spares are evicted, hibernated sandboxes hold none',
    { tags: ['faults'] },
    async () => {
      const first = await agent.created()
      await spares(1)
      const { memory_mib } = await info()
      expect([memory_mib.committed, memory_mib.commit_limit]).toEqual(
        [2, 4].map((count) => count * vmLimitMib(GUEST_MIB)),
      )
      const children = (await agent.forked(first.id, 3)).children.map(({ id }) => id)
      expect((await info()).spares).toBe(0)
      const refused = await agent.create()
      expect([refused.status, refused.body]).toEqual([507, { error: 'insufficient host memory for sandbox' }])
      expect((await agent.act(first.id, 'hibernate')).status).toBe(200)
      const second = await agent.created()
      const asleep = await agent.act(first.id, 'wake')
      expect([asleep.status, asleep.body]).toEqual([507, { error: 'insufficient host memory for sandbox' }])
      const tried = await agent.exec(first.id, { cmd: 'true' })
      expect(tried.status).toBe(507)
      expect((await agent.list()).sandboxes.find(({ id }) => id === first.id)?.status).toBe('hibernated')
      for (const id of [second.id, ...children]) expect((await agent.delete(id)).status).toBe(204)
      expect(await agent.sh(first.id, 'hostname')).toBe(`sbx-${first.id.slice(0, 8)}`)
    },
  )

  it('appears in the metrics', { tags: ['long'] }, async () => {
    await agent.created()
    await spares(1)
    const text = await (await fetch(`${agent.url}/metrics`)).text()
    const value = (name: string) =>
      Number(new RegExp(`^${name.replaceAll(/[{}]/g, '\\$&')} (\\S+)$`, 'm').exec(text)?.[1])
    const bytes = (kind: string) => value(`offshoot_agent_memory_bytes{kind="${kind}"}`)
    expect(bytes('committed')).toBe(2 * vmLimitMib(GUEST_MIB) * 1024 * 1024)
    expect(bytes('commit_limit')).toBe(4 * vmLimitMib(GUEST_MIB) * 1024 * 1024)
    expect(bytes('own')).toBeGreaterThan(8 * 1024 * 1024)
    expect(bytes('own')).toBeLessThan(bytes('committed'))
    expect(bytes('available')).toBeLessThan(bytes('total'))
    expect(value('offshoot_agent_spares{template="minimal"}')).toBe(1)
    expect(value('offshoot_agent_spares_asked{outcome="miss"}')).toBe(1)
  })
})
