import { randomUUID } from 'node:crypto'
import { mkdtemp, readdir, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { AgentSandbox, AgentSnapshotList } from '@offshoot/contract/agent-api'
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
    agent = await AgentProcess.create(folder)
    expect(await agent.run('prepare.ts')).toMatchObject({ exitCode: 0 })
    await agent.start()
    id = (await agent.created()).id
    // More than what is left for it below.
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

  it('nothing is captured, the sandbox runs on, and what was begun is gone', async () => {
    const hash = await agent.sh(id, 'md5sum < /run/memory')
    await disk.fill(2 * MIB)
    const child = { id: randomUUID(), index: 0 }
    for (const [what, body] of [
      ['hibernate', undefined],
      ['snapshots', { id: randomUUID() }],
      ['fork', { snapshot_id: randomUUID(), children: [child] }],
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

  it('what changed since a wake is not captured either, and is captured when there is room', async () => {
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

  it('not a byte is needed to delete, whether it runs or is hibernated', async () => {
    const { id: asleep } = await agent.created()
    await agent.act(asleep, 'hibernate')
    await disk.fillWhole()
    for (const each of [asleep, id]) expect((await agent.delete(each)).status).toBe(204)
    expect(await agent.folders()).toEqual([])
    await eventually('no layer', async () => (await agent.layers()).length === 0)
  })
})
