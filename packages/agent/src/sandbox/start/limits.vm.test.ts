/** @module-tag long */
import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { AgentFork, AgentSandbox } from '@offshoot/contract/agent-api'
import { NO_LIMITS, type SandboxLimits } from '@offshoot/contract/sandbox-limits'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { AgentProcess, eventually } from '../../test/agent-process.ts'

const MIB = 1024 * 1024
const WRITE_MIB_S = 4
const READ_MIB_S = 6
const limits: SandboxLimits = {
  cpu_weight: 50,
  cpu_percent: 100,
  disk_read_mib_s: READ_MIB_S,
  disk_write_mib_s: WRITE_MIB_S,
  disk_iops: 5000,
  network_mbit: 100,
}
const heavier: SandboxLimits = { ...limits, cpu_weight: 150, cpu_percent: 200 }

const read = async (group: string, file: string) => (await readFile(join(group, file), 'utf8')).trim()

describe.runIf(process.getuid?.() === 0)('limits of a sandbox', () => {
  let agent: AgentProcess
  /** A host without control groups for CPU time has nothing to check. */
  let hasCpu: boolean

  beforeAll(async () => {
    agent = await AgentProcess.create()
    await agent.start()
    const { body } = await agent.call<{ checks: { cpu_limits: string } }>('GET', '/healthz')
    expect(body.checks.cpu_limits).toMatch(/^(cgroup-v[12]|none)$/)
    hasCpu = body.checks.cpu_limits !== 'none'
  })
  afterAll(() => agent.destroy())

  async function create(asked?: unknown): Promise<AgentSandbox> {
    const body = { id: randomUUID(), template: 'minimal', env: {}, limits: asked }
    const answer = await agent.call<AgentSandbox>('POST', '/v1/sandboxes', { body })
    if (answer.status !== 201) throw new Error(`create answered ${answer.status}: ${agent.log.slice(-4000)}`)
    return answer.body
  }

  /** CPU weight and cap, in percent, of the control group that QEMU is in. */
  async function cpuOf(id: string): Promise<unknown> {
    const vm = (await agent.vms()).find(({ folder }) => folder.includes(id))
    const groups = await readFile(`/proc/${vm?.process.pid}/cgroup`, 'utf8')
    const [, split] = /^\d+:(?:[^:]*,)?cpu(?:,[^:]*)?:(\/.*)$/m.exec(groups) ?? []
    const [, unified] = /^0::(\/.*)$/m.exec(groups) ?? []
    if (split !== undefined) {
      const group = join('/sys/fs/cgroup/cpu', split)
      const quota = Number(await read(group, 'cpu.cfs_quota_us'))
      const weight = (Number(await read(group, 'cpu.shares')) * 100) / 256
      return { weight, percent: quota < 0 ? null : quota / 1000 }
    }
    const group = join('/sys/fs/cgroup', unified ?? '')
    const [quota] = (await read(group, 'cpu.max')).split(' ')
    return { weight: Number(await read(group, 'cpu.weight')), percent: quota === 'max' ? null : Number(quota) / 1000 }
  }

  const expectCpu = async (id: string, { cpu_weight: weight, cpu_percent: percent }: SandboxLimits) => {
    if (hasCpu) expect(await cpuOf(id)).toEqual({ weight, percent: percent === null ? null : percent + 100 })
  }

  /** Bytes per second of a transfer, measured by the guest's clock. */
  async function rateOf(id: string, bytes: number, transfer: string): Promise<number> {
    const clock = `cut -d' ' -f1 /proc/uptime`
    const [from = 0, to = 0] = (await agent.sh(id, `${clock}; ${transfer} 2>/dev/null; ${clock}`))
      .split('\n')
      .map(Number)
    return bytes / (to - from)
  }

  const SIZE_MIB = 6
  const write = `dd if=/dev/zero of=/root/large bs=64k count=${SIZE_MIB * 16} conv=fsync`
  const readBack = 'sync; echo 3 >/proc/sys/vm/drop_caches; dd if=/root/large of=/dev/null bs=64k'

  it('apply to disk rates and CPU, also in children of a fork and after a wake', async () => {
    const { id } = await create(limits)
    await expectCpu(id, limits)
    // A busy host can only make the transfer slower. A burst is a tenth of a second's bytes.
    expect(await rateOf(id, SIZE_MIB * MIB, write)).toBeLessThan(WRITE_MIB_S * MIB * 1.4)
    expect(await rateOf(id, SIZE_MIB * MIB, readBack)).toBeLessThan(READ_MIB_S * MIB * 1.4)

    const [own, given] = [await agent.forked(id), await forkedUnder(id, heavier)]
    await expectCpu(own.children[0]?.id ?? '', limits)
    const child = given.children[0]?.id ?? ''
    await expectCpu(child, heavier)
    expect(await rateOf(child, SIZE_MIB * MIB, write)).toBeLessThan(WRITE_MIB_S * MIB * 1.4)

    expect((await agent.act(id, 'hibernate')).status).toBe(200)
    expect((await agent.act(id, 'wake')).status).toBe(200)
    await expectCpu(id, limits)
    expect((await agent.act(id, 'hibernate')).status).toBe(200)
    expect((await agent.act(id, 'wake', { limits: heavier })).status).toBe(200)
    await expectCpu(id, heavier)
    expect(await rateOf(id, SIZE_MIB * MIB, readBack)).toBeLessThan(READ_MIB_S * MIB * 1.4)

    // A running sandbox gets new limits at once, and keeps them under the next agent.
    await patch(id, { ...NO_LIMITS, disk_write_mib_s: WRITE_MIB_S })
    await expectCpu(id, NO_LIMITS)
    await agent.stop('SIGKILL')
    await agent.start()
    await expectCpu(id, NO_LIMITS)
    await expectCpu(child, heavier)
    expect(await rateOf(id, SIZE_MIB * MIB, write)).toBeLessThan(WRITE_MIB_S * MIB * 1.4)
    await patch(id, NO_LIMITS)
    expect((await agent.act(id, 'wake', { limits })).status).toBe(200)
    await expectCpu(id, limits)
  })

  it('of a VM from the pool are those of the sandbox that takes it', async () => {
    await agent.stop('SIGTERM')
    await agent.configure({ pool_memory_mib: 256 })
    await agent.start()
    const { id } = await eventually('a spare guest', async () => {
      const made = await create(heavier)
      return made.boot_mode === 'pool' ? made : null
    })
    await expectCpu(id, heavier)
    expect(await rateOf(id, SIZE_MIB * MIB, write)).toBeLessThan(WRITE_MIB_S * MIB * 1.4)
    const unlimited = await create()
    await expectCpu(unlimited.id, NO_LIMITS)
  })

  it('are refused if they are invalid', async () => {
    const { id } = await create()
    for (const wrong of [
      { ...limits, cpu_weight: 0 },
      { ...limits, cpu_percent: -1 },
      { ...limits, disk_write_mib_s: 0 },
      { ...limits, disk_iops: '5000' },
      { ...limits, network_mbit: 1e9 },
      { cpu_weight: 100 },
      'fast',
    ]) {
      const body = { id: randomUUID(), template: 'minimal', env: {}, limits: wrong }
      expect((await agent.call('POST', '/v1/sandboxes', { body })).status).toBe(400)
      expect((await agent.act(id, 'wake', { limits: wrong })).status).toBe(400)
      const lifecycle = await agent.call('PATCH', `/v1/sandboxes/${id}/lifecycle`, { body: { limits: wrong } })
      expect(lifecycle.status).toBe(400)
      const fork = { snapshot_id: randomUUID(), children: [{ id: randomUUID(), index: 0 }], limits: wrong }
      expect((await agent.act(id, 'fork', fork)).status).toBe(400)
    }
    await expectCpu(id, NO_LIMITS)
  })

  async function forkedUnder(id: string, chosen: SandboxLimits): Promise<AgentFork> {
    const children = [{ id: randomUUID(), index: 0 }]
    const answer = await agent.act<AgentFork>(id, 'fork', { snapshot_id: randomUUID(), children, limits: chosen })
    expect(answer).toMatchObject({ status: 201, body: { children: { length: 1 } } })
    return answer.body
  }

  async function patch(id: string, chosen: SandboxLimits): Promise<void> {
    const answer = await agent.call('PATCH', `/v1/sandboxes/${id}/lifecycle`, { body: { limits: chosen } })
    expect(answer.status).toBe(200)
  }
})
