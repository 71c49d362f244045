/** @module-tag faults */
import { randomUUID } from 'node:crypto'
import { mkdtemp, readdir, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { AgentInfo, AgentSandbox, AgentSnapshotList } from '@offshoot/contract/agent-api'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { AgentProcess, eventually } from '../../test/agent-process.ts'
import { canMountDisk, SmallDisk } from '../../test/small-disk.ts'

const FULL = { error: 'insufficient host storage for sandbox' }
const MIB = 1024 * 1024
const DISK_BYTES = 400 * MIB

describe.skipIf(!canMountDisk)('on a full disk', () => {
  let folder: string
  let disk: SmallDisk
  let agent: AgentProcess
  let id: string
  const statusOf = async () => (await agent.call<AgentSandbox>('GET', `/v1/sandboxes/${id}`)).body.status

  beforeAll(async () => {
    folder = await realpath(await mkdtemp(join(tmpdir(), 'offshoot-full-')))
    disk = await SmallDisk.mount(folder, DISK_BYTES)
    // Without watermarks, so that operations reach the last block.
    agent = await AgentProcess.create(folder, { disk: { warn_below_mib: 0, refuse_below_mib: 0 } })
    await agent.prepare()
    await agent.start()
    id = (await agent.created()).id
    // More than the free space below.
    await agent.sh(id, 'head -c 8000000 /dev/urandom > /run/memory')
  })
  afterAll(async () => {
    await agent.destroy().catch((error: unknown) => {
      // The folder itself is a mount.
      if ((error as NodeJS.ErrnoException).code !== 'EBUSY') throw error
    })
    await disk.unmount()
    await rm(folder, { recursive: true })
  })

  it('a failed capture leaves the sandbox running and no files behind', async () => {
    const hash = await agent.sh(id, 'md5sum < /run/memory')
    await disk.fill(2 * MIB)
    for (const [what, body] of [
      ['hibernate', undefined],
      ['snapshots', { id: randomUUID() }],
      ['fork', { snapshot_id: randomUUID(), children: [childOf()] }],
    ] as const) {
      const answer = await agent.act<unknown>(id, what, body)
      expect([what, answer.status, answer.body]).toEqual([what, 507, FULL])
      expect(await statusOf()).toBe('running')
      expect(await agent.sh(id, 'md5sum < /run/memory')).toBe(hash)
    }
    const { body } = await agent.call<AgentSnapshotList>('GET', '/v1/snapshots', { workspace: null })
    expect(body.snapshots).toEqual([])
    expect(await readdir(join(agent.dataDir, 'snapshots'))).toEqual([])
    expect(await readdir(join(agent.dataDir, 'sandboxes', id))).not.toContain('hibernation')
    await disk.empty()
    expect((await agent.act(id, 'hibernate')).status).toBe(200)
    expect(await agent.sh(id, 'md5sum < /run/memory')).toBe(hash)
    expect(await agent.events(id)).not.toContain('vm.died')
  })

  it('a failed second hibernation succeeds when the disk has room again', { tags: ['long'] }, async () => {
    const hash = await agent.sh(id, 'head -c 8000000 /dev/urandom > /run/memory; md5sum < /run/memory')
    await disk.fill(2 * MIB)
    const { status, body } = await agent.act<unknown>(id, 'hibernate')
    expect([status, body]).toEqual([507, FULL])
    expect(await agent.sh(id, 'md5sum < /run/memory')).toBe(hash)
    const names = await readdir(join(agent.dataDir, 'sandboxes', id))
    expect([names.includes('hibernation'), names.includes('memory-base')]).toEqual([false, true])
    await disk.empty()
    expect((await agent.act(id, 'hibernate')).status).toBe(200)
    expect(await agent.sh(id, 'md5sum < /run/memory')).toBe(hash)
  })

  it('running and hibernated sandboxes can be deleted without free space', async () => {
    const { id: asleep } = await agent.created()
    await agent.act(asleep, 'hibernate')
    await disk.fillWhole()
    for (const each of [asleep, id]) expect((await agent.delete(each)).status).toBe(204)
    expect(await agent.folders()).toEqual([])
    await eventually('no layer', async () => (await agent.layers()).length === 0)
  })

  it('below a watermark, operations that need new space are refused; those that keep data or free space are not', async () => {
    const health = async () => ((await (await fetch(`${agent.url}/healthz`)).json()) as Health).checks.disk
    await disk.empty()
    await agent.stop()
    await agent.configure({ disk: { warn_below_mib: 80, refuse_below_mib: 40 } })
    await agent.start()
    const { id: running } = await agent.created()
    const { id: asleep } = await agent.created()
    const snapshot = randomUUID()
    expect((await agent.act(running, 'snapshots', { id: snapshot })).status).toBe(201)
    const { status } = await agent.act(asleep, 'hibernate')
    expect([status, await health()]).toEqual([200, 'ok'])

    await disk.fill(70 * MIB)
    expect(await health()).toMatch(/^low: \d+ of \d+ MiB are free$/)
    const { id: last } = await agent.created()

    await disk.empty()
    await disk.fill(35 * MIB)
    expect(await health()).toMatch(/^refusing: \d+ of \d+ MiB are free$/)
    const size = { cpu: 1, memory_mb: 128 }
    for (const [method, path, body, what] of [
      ['POST', '/v1/sandboxes', { id: randomUUID(), template: 'minimal', env: {} }, 'sandbox'],
      ['POST', '/v1/sandboxes', { id: randomUUID(), template: 'minimal', env: {}, snapshot_id: snapshot }, 'sandbox'],
      ['POST', `/v1/sandboxes/${running}/snapshots`, { id: randomUUID() }, 'sandbox'],
      ['POST', `/v1/sandboxes/${running}/fork`, { snapshot_id: randomUUID(), children: [childOf()] }, 'sandbox'],
      ['POST', `/v1/sandboxes/${running}/template`, { id: randomUUID(), name: 'mine', memory: true }, 'template'],
      ['PUT', `/v1/builds/${randomUUID()}/rootfs`, size, 'template'],
      ['POST', '/v1/volumes', { id: randomUUID(), name: 'mine', size_mb: 16 }, 'volume'],
    ] as const) {
      expect({ path, ...(await agent.call(method, path, { body })) }).toMatchObject({ path, ...refused(what) })
    }
    const metrics = await (await fetch(`${agent.url}/metrics`)).text()
    expect(metrics).toContain('offshoot_agent_disk_state{state="refusing"} 1')
    expect(metrics).toContain(`offshoot_agent_disk_bytes{kind="refuse_below"} ${40 * MIB}`)
    const { body: about } = await agent.call<AgentInfo>('GET', '/v1/agent', { workspace: null })
    expect(about.disk).toMatchObject({ state: 'refusing', warn_below_bytes: 80 * MIB })

    expect(await agent.sh(running, 'echo written > /root/file; sync; cat /root/file')).toBe('written')
    for (const [what, of] of [
      ['pause', running],
      ['resume', running],
      ['hibernate', running],
      ['wake', running],
      ['wake', asleep],
    ] as const) {
      expect([what, (await agent.act(of, what)).status]).toEqual([what, 200])
    }
    expect((await agent.delete(last)).status).toBe(204)

    // Above the watermark again, but not yet far enough above it.
    await disk.empty()
    await disk.fill(45 * MIB)
    expect(await agent.create()).toMatchObject(refused('sandbox'))
    await disk.empty()
    await agent.created()
    expect([await health(), agent.log]).toEqual(['ok', expect.stringContaining('the disk has room again')])
  })
})

interface Health {
  readonly checks: { readonly disk: string }
}

function childOf() {
  return { id: randomUUID(), index: 0 }
}
const refused = (what: string) => ({ status: 507, body: { error: `insufficient host storage for ${what}` } })
