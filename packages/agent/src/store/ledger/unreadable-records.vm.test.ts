/** @module-tag faults */
import { randomUUID } from 'node:crypto'
import { appendFile, cp, mkdir, readdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import type { AgentSandboxList, AgentSnapshotList } from '@offshoot/contract/agent-api'
import type { AgentQuarantine, QuarantineEntry } from '@offshoot/contract/agent-quarantine'
import type { AgentVolumeList } from '@offshoot/contract/agent-volume'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { AgentProcess, eventually } from '../../test/agent-process.ts'

/** One agent, with a volume that contains data, a hibernated sandbox with a file, and a snapshot of another sandbox. */
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

/** Kinds of damage. Each function gets the path of the record, whose content was saved. */
const DAMAGES: Readonly<Record<string, (path: string, content: string) => Promise<void>>> = {
  empty: (path) => writeFile(path, ''),
  truncated: (path, content) => writeFile(path, content.slice(0, content.length / 2)),
  garbled: (path, content) => writeFile(path, content.replaceAll('"', '\u0000')),
  'of a newer version': (path, content) => writeFile(path, content.replace(/\}\s*$/, ',"format":99}')),
  'unreadable for an I/O error': async (path) => {
    // The kernel answers EIO: nothing is mapped at the address 0.
    await rm(path)
    await symlink('/proc/self/mem', path)
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

const RECORD_FOLDERS = { volume: 'volumes', sandbox: 'sandboxes', snapshot: 'snapshots' } as const

async function quarantine(): Promise<QuarantineEntry[]> {
  const { body } = await agent.call<AgentQuarantine>('GET', '/v1/quarantine', { workspace: null })
  return body.entries
}
const restore = (entry: string) =>
  agent.call<unknown>('POST', `/v1/quarantine/${entry}/restore`, { workspace: null, body: {} })

describe('missing records', () => {
  it('move their objects to quarantine, from which an operator restores them', async () => {
    await agent.stop()
    const saved = `${agent.dataDir}-saved`
    await mkdir(saved)
    const files = new Map<string, string[]>()
    for (const { kind, path } of records()) {
      await rename(path, join(saved, kind))
      files.set(kind, await filesOf(path))
    }
    const layers = await agent.layers()
    await agent.start()
    const entries = await quarantine()
    expect(new Set(entries.map(({ kind, id, state }) => `${state} ${kind} ${id}`))).toEqual(
      new Set(records().map(({ kind, id }) => `quarantined ${kind} ${id}`)),
    )
    expect(agent.log).toContain('moved to quarantine')
    expect(await agent.layers()).toEqual(layers)
    const metrics = await fetch(`${agent.url}/metrics`).then((answer) => answer.text())
    expect(metrics).toContain('offshoot_agent_quarantine_objects{state="quarantined",kind="volume"} 1')
    for (const { entry, kind } of entries) {
      const folder = join(agent.dataDir, 'quarantine', entry)
      expect((await readdir(folder, { recursive: true })).toSorted()).toEqual(files.get(kind))
      expect((await restore(entry)).status).toBe(409)
      const { path } = records().find((record) => record.kind === kind) ?? { path: '' }
      await rename(join(saved, kind), join(folder, basename(path)))
      expect((await restore(entry)).status).toBe(204)
      expect((await restore(entry)).status).toBe(404)
      expect(await readdir(join(agent.dataDir, RECORD_FOLDERS[kind as 'volume']))).toContain(
        entries.find((each) => each.kind === kind)?.id,
      )
    }
    await rm(saved, { recursive: true })
    expect(await quarantine()).toEqual([])
    // The agent has it at once, without a restart.
    expect((await agent.act(hibernated, 'wake')).status).toBe(200)
    expect(await agent.sh(hibernated, 'cat /root/kept')).toBe('precious')
    expect((await agent.act(hibernated, 'hibernate')).status).toBe(200)
    expect((await agent.call('GET', `/v1/volumes/${volume}`)).status).toBe(200)
    expect(
      (await agent.call<AgentSnapshotList>('GET', '/v1/snapshots', { workspace: null })).body.snapshots,
    ).toMatchObject([{ id: snapshot }])
  })

  it('let a start delete objects that are marked as deleted, unfinished or empty', async () => {
    await agent.stop()
    const folders = ['volumes', 'snapshots', 'templates', 'builds'].flatMap((kind) =>
      ['begun.json', 'deleted.json', null].map((name) => ({ folder: join(agent.dataDir, kind, randomUUID()), name })),
    )
    for (const { folder, name } of folders) {
      await mkdir(folder)
      if (name !== null) for (const file of [name, 'data']) await writeFile(join(folder, file), '{}')
    }
    await agent.start()
    expect(await quarantine()).toEqual([])
    for (const { folder } of folders) expect(await readdir(join(folder, '..'))).not.toContain(basename(folder))
    expect(await readdir(join(agent.dataDir, 'trash'))).toEqual([])
  })

  it('let an operator purge their objects, but not a tenant', async () => {
    await agent.stop()
    const folder = join(agent.dataDir, 'volumes', randomUUID())
    await mkdir(folder)
    await writeFile(join(folder, 'data'), 'nobody knows')
    await agent.start()
    const [{ entry } = { entry: '' }] = await quarantine()
    const path = `/v1/quarantine/${entry}`
    for (const [method, of] of [
      ['GET', '/v1/quarantine'],
      ['POST', `${path}/restore`],
      ['DELETE', path],
    ] as const)
      expect((await agent.call(method, of, method === 'POST' ? { body: {} } : {})).status).toBe(404)
    expect(await readdir(join(agent.dataDir, 'quarantine'))).toHaveLength(2)
    expect((await agent.call('DELETE', path, { workspace: null })).status).toBe(204)
    expect((await agent.call('DELETE', path, { workspace: null })).status).toBe(404)
    expect(await readdir(join(agent.dataDir, 'quarantine'))).toEqual([])
  })
})

describe('unreadable records', () => {
  it.each(Object.keys(DAMAGES))('do not lead to a deletion if a record is %s', async (name) => {
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
    // All other objects work.
    expect(await agent.sh(running, 'echo works')).toBe('works')
    const other = await agent.created()
    expect((await agent.delete(other.id)).status).toBe(204)
    expect(await agent.layers()).toEqual(layers)

    // The records are repaired while the agent runs.
    for (const { kind, id, path } of records()) {
      expect((await restore(`${kind}-${id}`)).status).toBe(409)
      await rm(path, { recursive: true })
      await rename(join(saved, kind), path)
      expect((await restore(`${kind}-${id}`)).status).toBe(204)
    }
    await rm(saved, { recursive: true })
    for (const path of ['volumes', 'sandboxes', 'snapshots']) expect(await unreadableOn(`/v1/${path}`)).toEqual([])
  })

  it('work again after a repair', async () => {
    expect((await agent.act(hibernated, 'wake')).status).toBe(200)
    expect(await agent.sh(hibernated, 'cat /root/kept')).toBe('precious')
    const id = randomUUID()
    const copy = await agent.call('POST', '/v1/sandboxes', {
      body: { id, template: '', env: {}, snapshot_id: snapshot, volumes: [{ id: volume, read_only: false }] },
    })
    expect(copy.status).toBe(201)
    expect((await agent.delete(id)).status).toBe(204)
  })

  it('leave the QEMU of an unreadable manifest running, and the agent adopts it after a repair', async () => {
    const path = join(agent.dataDir, 'sandboxes', running, 'manifest.json')
    const content = await readFile(path)
    await agent.stop('SIGKILL')
    const before = (await agent.vms()).filter(({ folder }) => folder.includes(running))
    expect(before).toHaveLength(1)
    await writeFile(path, '')
    await agent.start()
    // Another VM gets another slot, user and network.
    const other = await agent.created()
    expect(await agent.sh(other.id, 'echo works')).toBe('works')
    expect((await agent.vms()).filter(({ folder }) => folder.includes(running))).toEqual(before)
    await writeFile(path, content)
    expect((await restore(`sandbox-${running}`)).status).toBe(204)
    await eventually('adoption', async () => (await agent.sh(running, 'echo here')) === 'here')
    expect((await agent.vms()).filter(({ folder }) => folder.includes(running))).toEqual(before)
  })

  it('leave a QEMU running if the record of its disk is unreadable', async () => {
    const path = join(agent.dataDir, 'sandboxes', running, 'chain.json')
    const content = await readFile(path)
    const before = (await agent.vms()).filter(({ folder }) => folder.includes(running))
    await agent.stop('SIGKILL')
    await writeFile(path, '')
    await agent.start()
    expect(await unreadableOn('/v1/sandboxes')).toEqual([running])
    expect(agent.log).toContain(path)
    expect((await restore(`sandbox-${running}`)).status).toBe(409)
    expect((await agent.vms()).filter(({ folder }) => folder.includes(running))).toEqual(before)
    await writeFile(path, content)
    expect((await restore(`sandbox-${running}`)).status).toBe(204)
    expect(await agent.sh(running, 'echo here')).toBe('here')
    expect((await agent.vms()).filter(({ folder }) => folder.includes(running))).toEqual(before)
  })

  it('are resolved after a power cut that emptied them: of a sandbox with a VM, and of a deleted one', async () => {
    const [lost, deleted] = [(await agent.created()).id, (await agent.created()).id]
    await agent.stop('SIGKILL')
    const theirs = async () =>
      (await agent.vms()).filter(({ folder }) => [lost, deleted].some((id) => folder.includes(id)))
    for (const { process: vm } of await theirs()) process.kill(vm.pid, 'SIGKILL')
    await eventually('their ends', async () => (await theirs()).length === 0)
    for (const id of [lost, deleted]) await writeFile(join(agent.dataDir, 'sandboxes', id, 'manifest.json'), '')
    await logDeletion(deleted)
    // A sandbox that was being created: the file system kept the sizes of its files but not their content.
    const begun = join(agent.dataDir, 'sandboxes', randomUUID())
    await mkdir(join(begun, 'vm'), { recursive: true })
    for (const name of ['manifest.json', 'manifest.first.json']) await writeFile(join(begun, name), Buffer.alloc(600))
    await agent.start()
    expect(await agent.folders()).not.toContain(basename(begun))
    expect(await unreadableOn('/v1/sandboxes')).toEqual([])
    const { sandboxes } = await agent.list()
    expect(sandboxes.find(({ id }) => id === lost)).toMatchObject({ status: 'failed', template: 'minimal' })
    expect((await agent.events(lost)).at(-1)).toBe('recover.orphaned')
    expect(await agent.folders()).not.toContain(deleted)
    expect((await agent.delete(lost)).status).toBe(204)
    expect(await agent.folders()).not.toContain(lost)
  })
})

/** Appends the last record of a deleted sandbox to the agent's log. */
async function logDeletion(id: string): Promise<void> {
  const records = await agent.records()
  const born = records.findLast(({ event }) => event.sandbox_id === id)
  if (born === undefined) throw new Error(`the log does not know ${id}`)
  const last = records.at(-1)?.seq ?? 0
  const event = { ...born.event, type: 'sandbox.deleted', ts: new Date().toISOString() }
  const folder = join(agent.dataDir, 'events')
  const newest = (await readdir(folder)).toSorted().at(-1) ?? ''
  await appendFile(
    join(folder, newest),
    `${JSON.stringify({ ...born, seq: last + 1, number: born.number + 1, event })}\n`,
  )
}
