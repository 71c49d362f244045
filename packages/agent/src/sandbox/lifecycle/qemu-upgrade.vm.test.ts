/** @module-tag long */
import { randomUUID } from 'node:crypto'
import { readdir, readFile, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { AgentSandbox, AgentSnapshotList } from '@offshoot/contract/agent-api'
import { AgentProcess, eventually } from '../../test/agent-process.ts'
import { OtherQemu, usedQemu } from '../../test/other-qemu.ts'

/** Checks whether the guest still has its memory. */
const REMEMBER = 'echo remembered > /dev/shm/memory'
const RECALL = 'cat /dev/shm/memory'

describe.skipIf(process.getuid?.() !== 0)('an upgrade of QEMU', () => {
  let other: OtherQemu
  let before: AgentProcess
  let after: AgentProcess
  beforeAll(async () => {
    other = await OtherQemu.make()
    before = await AgentProcess.create(undefined, {}, { host: '127.0.0.1', under: other.under })
    await before.start()
    after = await AgentProcess.create(before.folder)
  })
  afterAll(async () => {
    await after?.destroy()
    await before?.destroy()
    await other?.remove()
  })

  const versions = async () =>
    (await readdir(join(after.dataDir, 'qemu'))).map((name) => name.split('-')[0] ?? '').toSorted()

  /** The version of QEMU that runs the VM of a sandbox. */
  async function versionOf(id: string): Promise<string | undefined> {
    const vm = (await after.vms()).find(({ folder }) => folder.split('/').at(-2) === id)
    const line = (await readFile(`/proc/${vm?.launcher?.pid}/cmdline`, 'utf8')).split('\0')
    return line[line.indexOf('--root') + 1]?.split('/').at(-1)?.split('-')[0]
  }

  /** Waits until the agent has decided which versions are needed. */
  async function restart(said: string): Promise<void> {
    await after.stop()
    await after.start()
    await eventually(said, async () => after.log.includes(said))
  }

  it('keeps the memory of sandboxes and snapshots, and removes the earlier version when nothing needs it', async () => {
    const [hibernated, running, parent] = [await before.created(), await before.created(), await before.created()]
    for (const { id } of [hibernated, running, parent]) await before.sh(id, REMEMBER)
    expect((await before.act(hibernated.id, 'hibernate')).status).toBe(200)
    const snapshotId = randomUUID()
    const kept = await before.call('POST', `/v1/sandboxes/${parent.id}/snapshots`, { body: { id: snapshotId } })
    expect(kept.status).toBe(201)
    await before.stop()
    await after.start()

    const woken = await after.act<AgentSandbox & { cold?: true }>(hibernated.id, 'wake')
    expect([woken.status, woken.body.cold]).toEqual([200, undefined])
    expect([await after.sh(hibernated.id, RECALL), await versionOf(hibernated.id)]).toEqual([
      'remembered',
      other.version,
    ])

    const fork = (await after.forked(running.id, 2)).children.map(({ id }) => id)
    for (const id of fork)
      expect([await after.sh(id, RECALL), await versionOf(id)]).toEqual(['remembered', other.version])
    for (const what of ['hibernate', 'wake']) expect(await after.act(running.id, what)).toMatchObject({ status: 200 })
    expect([await after.sh(running.id, RECALL), await versionOf(running.id)]).toEqual(['remembered', other.version])

    const made = randomUUID()
    const body = { id: made, template: 'minimal', snapshot_id: snapshotId, env: {} }
    expect((await after.call('POST', '/v1/sandboxes', { body })).status).toBe(201)
    expect([await after.sh(made, RECALL), await versionOf(made)]).toEqual(['remembered', other.version])
    const fresh = await after.created()
    expect(await versionOf(fresh.id)).not.toBe(other.version)

    for (const { id } of (await after.list()).sandboxes) expect((await after.delete(id)).status).toBe(204)
    await restart('earlier versions of QEMU kept')
    expect(await versions()).toContain(other.version)
    const manifest = join(after.dataDir, 'snapshots', snapshotId, 'checkpoint.json')
    await rename(manifest, `${manifest}.away`)
    await restart('a damaged checkpoint may need any version of QEMU')
    await rename(`${manifest}.away`, manifest)
    expect(await versions()).toContain(other.version)
    const { body: list } = await after.call<AgentSnapshotList>('GET', '/v1/snapshots', { workspace: null })
    for (const { id } of list.snapshots) expect((await after.call('DELETE', `/v1/snapshots/${id}`)).status).toBe(204)
    await restart('earlier version of QEMU removed')
    expect(await versions()).toEqual([(await usedQemu()).version])
    const { id } = await after.created()
    expect(await after.sh(id, 'echo works')).toBe('works')
  })
})
