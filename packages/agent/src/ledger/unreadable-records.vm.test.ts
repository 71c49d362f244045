import { randomUUID } from 'node:crypto'
import { cp, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { AgentSandboxList, AgentSnapshotList } from '@offshoot/contract/agent-api'
import type { AgentVolumeList } from '@offshoot/contract/agent-volume'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { AgentProcess, eventually } from '../test/agent-process.ts'

/** One agent, with a volume that holds data, a hibernated sandbox that has a file, and a snapshot of another sandbox. */
let agent: AgentProcess
let volume: string
let hibernated: string
let snapshot: string
let running: string

beforeAll(async () => {
  agent = await AgentProcess.create()
  await agent.start()
  volume = randomUUID()
  const made = await agent.call('POST', '/v1/volumes', { body: { id: volume, name: 'data', size_mb: 32 } })
  expect(made.status).toBe(201)
  hibernated = (await agent.created()).id
  await agent.sh(hibernated, 'echo precious > /root/kept; sync')
  running = (await agent.created()).id
  snapshot = randomUUID()
  expect((await agent.act(running, 'snapshots', { id: snapshot })).status).toBe(201)
  expect((await agent.act(hibernated, 'hibernate')).status).toBe(200)
})
afterAll(() => agent.destroy())

/** What can happen to a record. Each gets the path of the record, whose content has been saved. */
const DAMAGES: Readonly<Record<string, (path: string, content: string) => Promise<void>>> = {
  empty: (path) => writeFile(path, ''),
  truncated: (path, content) => writeFile(path, content.slice(0, content.length / 2)),
  garbled: (path, content) => writeFile(path, content.replaceAll('"', '\u0000')),
  'of a newer version': (path, content) => writeFile(path, content.replace(/\}\s*$/, ',"format":99}')),
  'unreadable for an I/O error': async (path) => {
    // Reading a folder as a file fails with EISDIR, as a bad sector fails with EIO.
    await rm(path)
    await mkdir(path)
  },
}

const records = () => [
  { kind: 'volume', id: volume, path: join(agent.dataDir, 'volumes', volume, 'volume.json') },
  { kind: 'sandbox', id: hibernated, path: join(agent.dataDir, 'sandboxes', hibernated, 'manifest.json') },
  { kind: 'snapshot', id: snapshot, path: join(agent.dataDir, 'snapshots', snapshot, 'snapshot.json') },
]

async function filesOf(path: string): Promise<string[]> {
  const folder = join(path, '..')
  return (await readdir(folder, { recursive: true })).toSorted()
}

async function unreadableOn(path: string): Promise<string[]> {
  const { body } = await agent.call<AgentSandboxList & AgentSnapshotList & AgentVolumeList>('GET', path, {
    workspace: null,
  })
  return body.unreadable
}

describe('records that cannot be read', () => {
  it.each(Object.keys(DAMAGES))('keeps everything that a record describes which is %s', async (name) => {
    const damage = DAMAGES[name]
    if (damage === undefined) throw new Error(`no damage ${name}`)
    await agent.stop()
    const saved = `${agent.dataDir}-saved`
    await mkdir(saved)
    const layers = await agent.layers()
    const files = new Map<string, string[]>()
    for (const { kind, path } of records()) {
      files.set(kind, await filesOf(path))
      await cp(path, join(saved, kind))
      await damage(path, await readFile(path, 'utf8'))
    }

    await agent.start()
    for (const { kind, id, path } of records()) {
      expect(await filesOf(path)).toEqual(expect.arrayContaining(files.get(kind) ?? []))
      expect(agent.log).toContain(`record of a ${kind} cannot be read`)
      expect(agent.log).toContain(path)
      const { status, body } = await agent.call<unknown>(
        'DELETE',
        `/v1/${kind === 'sandbox' ? 'sandboxe' : kind}s/${id}`,
      )
      expect({ status, body }).toMatchObject({
        status: 500,
        body: { error: expect.stringContaining('cannot be read') },
      })
      expect(await filesOf(path)).toEqual(expect.arrayContaining(files.get(kind) ?? []))
    }
    expect(await unreadableOn('/v1/volumes')).toEqual([volume])
    expect(await unreadableOn('/v1/sandboxes')).toEqual([hibernated])
    expect(await unreadableOn('/v1/snapshots')).toEqual([snapshot])
    expect(await agent.layers()).toEqual(layers)
    // Everything else works.
    expect(await agent.sh(running, 'echo works')).toBe('works')
    const other = await agent.created()
    expect((await agent.delete(other.id)).status).toBe(204)
    expect(await agent.layers()).toEqual(layers)

    await agent.stop()
    for (const { kind, path } of records()) {
      await rm(path, { recursive: true })
      await rename(join(saved, kind), path)
    }
    await rm(saved, { recursive: true })
    await agent.start()
    for (const path of ['volumes', 'sandboxes', 'snapshots']) expect(await unreadableOn(`/v1/${path}`)).toEqual([])
  })

  it('has everything back when the records are repaired', async () => {
    expect((await agent.act(hibernated, 'wake')).status).toBe(200)
    expect(await agent.sh(hibernated, 'cat /root/kept')).toBe('precious')
    const id = randomUUID()
    const copy = await agent.call('POST', '/v1/sandboxes', {
      body: { id, template: '', env: {}, snapshot_id: snapshot, volumes: [{ id: volume, read_only: false }] },
    })
    expect(copy.status).toBe(201)
    expect((await agent.delete(id)).status).toBe(204)
  })

  it('leaves a QEMU running whose manifest cannot be read, and adopts it when the manifest is repaired', async () => {
    const path = join(agent.dataDir, 'sandboxes', running, 'manifest.json')
    const content = await readFile(path)
    await agent.stop('SIGKILL')
    const before = (await agent.vms()).filter(({ folder }) => folder.includes(running))
    expect(before).toHaveLength(1)
    await writeFile(path, '')
    await agent.start()
    // Another VM gets another slot, with its user and its network.
    const other = await agent.created()
    expect(await agent.sh(other.id, 'echo works')).toBe('works')
    expect((await agent.vms()).filter(({ folder }) => folder.includes(running))).toEqual(before)
    await agent.stop('SIGKILL')
    await writeFile(path, content)
    await agent.start()
    await eventually('adoption', async () => (await agent.sh(running, 'echo here')) === 'here')
    expect((await agent.vms()).filter(({ folder }) => folder.includes(running))).toEqual(before)
  })
})
