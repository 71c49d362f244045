import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { AgentSandbox } from '@offshoot/contract/agent-api'
import type { AgentVolume, AgentVolumeList } from '@offshoot/contract/agent-volume'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { AgentProcess, eventually, OTHER_WORKSPACE, type Answer } from '../../test/agent-process.ts'

const run = promisify(execFile)
const MIB = 1024 * 1024
/** Number of races between two sandboxes for the same volume. */
const RACES = Number(process.env['OFFSHOOT_VOLUME_RACES'] ?? 6)

type Attachment = { readonly id: string; readonly read_only: boolean }
let agent: AgentProcess

beforeAll(async () => {
  agent = await AgentProcess.create()
  await agent.start()
})
afterAll(async () => agent.destroy())
afterEach(async () => {
  for (const { id } of (await agent.list()).sandboxes) await agent.delete(id)
  for (const { id } of await list()) await agent.call('DELETE', `/v1/volumes/${id}`)
})

const dataOf = (id: string) => join(agent.dataDir, 'volumes', id, 'data')
const writing = (id: string): Attachment => ({ id, read_only: false })
const reading = (id: string): Attachment => ({ id, read_only: true })

async function list(): Promise<AgentVolume[]> {
  return (await agent.call<AgentVolumeList>('GET', '/v1/volumes')).body.volumes
}

function make(body: Record<string, unknown> = {}): Promise<Answer<AgentVolume & { error: string }>> {
  return agent.call('POST', '/v1/volumes', { body: { id: randomUUID(), name: 'data', size_mb: 32, ...body } })
}

async function made(body: Record<string, unknown> = {}): Promise<string> {
  const { status, body: volume } = await make(body)
  expect({ status, volume }).toMatchObject({ status: 201 })
  return volume.id
}

const get = (id: string) => agent.call<AgentVolume>('GET', `/v1/volumes/${id}`)
const grow = (id: string, size_mb: number) =>
  agent.call<AgentVolume & { error: string }>('PATCH', `/v1/volumes/${id}`, { body: { size_mb } })

function create(volumes: readonly Attachment[], more: Record<string, unknown> = {}) {
  const body = { id: randomUUID(), template: 'minimal', env: {}, volumes, ...more }
  return agent.call<AgentSandbox & { error: string; detail?: string; attached_to?: string }>('POST', '/v1/sandboxes', {
    body,
  })
}

async function created(volumes: readonly Attachment[], more: Record<string, unknown> = {}): Promise<string> {
  const { status, body } = await create(volumes, more)
  expect({ status, body }).toMatchObject({ status: 201 })
  return body.id
}

/** What a command prints, trimmed. @throws when it fails */
async function sh(id: string, cmd: string): Promise<string> {
  const { status, body } = await agent.exec(id, { cmd })
  if (status !== 200 || body.exit_code !== 0) throw new Error(`${cmd}: ${status} ${JSON.stringify(body)}`)
  return body.stdout.trim()
}

const killVm = async (id: string) => {
  const found = (await agent.vms()).find(({ folder }) => folder.includes(id))
  if (found === undefined) throw new Error(`no VM of ${id}`)
  process.kill(found.process.pid, 'SIGKILL')
  await eventually('failed', async () =>
    (await agent.list()).sandboxes.some((s) => s.id === id && s.status === 'failed'),
  )
}

describe('a volume', () => {
  it('is an empty, sparse ext4 file system of its size, visible to its workspace only, until it is deleted', async () => {
    const { status, body } = await make({ size_mb: 1000 })
    expect({ status, body }).toMatchObject({
      status: 201,
      body: { size_mb: 1000, attachments: [], was_attached: false },
    })
    expect(body.used_bytes).toBeLessThan(40 * MIB)
    expect((await stat(dataOf(body.id))).size).toBe(1000 * MIB)
    await run('e2fsck', ['-fn', dataOf(body.id)])
    expect((await agent.call('GET', `/v1/volumes/${body.id}`, { workspace: OTHER_WORKSPACE })).status).toBe(404)
    expect((await agent.call('DELETE', `/v1/volumes/${body.id}`, { workspace: OTHER_WORKSPACE })).status).toBe(404)
    expect((await agent.call('DELETE', `/v1/volumes/${body.id}`)).status).toBe(204)
    expect((await agent.call('DELETE', `/v1/volumes/${body.id}`)).status).toBe(204)
    expect(await readdir(join(agent.dataDir, 'volumes'))).toEqual([])
  })

  it('is refused with the status that fits the error', async () => {
    const id = await made()
    expect(await make({ id })).toMatchObject({ status: 409 })
    expect(await make({ size_mb: 65_537 })).toMatchObject({ status: 400 })
    expect(await make({ size_mb: 0 })).toMatchObject({ status: 400 })
    expect(await make({ from: randomUUID() })).toMatchObject({ status: 404 })
    expect(await make({ from: id, size_mb: 16 })).toMatchObject({ status: 400 })
    expect(await grow(id, 16)).toMatchObject({
      status: 400,
      body: { error: expect.stringContaining('does not shrink') },
    })
    expect(await grow(randomUUID(), 64)).toMatchObject({ status: 404 })
    expect(await create([writing(randomUUID())])).toMatchObject({ status: 404 })
    expect(await readdir(join(agent.dataDir, 'volumes'))).toEqual([id])
  })

  it('outlives its sandboxes, with the data that they wrote and did not sync', async () => {
    const [first, second] = [await made({ size_mb: 16 }), await made({ size_mb: 48 })]
    const writer = await created([writing(first), writing(second)])
    expect(await sh(writer, 'cat /sys/block/vdb/size /sys/block/vdc/size')).toBe('32768\n98304')
    await sh(writer, 'mkdir /v && mount /dev/vdb /v && echo kept > /v/file')
    expect((await get(first)).body.attachments).toEqual([{ sandbox_id: writer, read_only: false }])
    await agent.delete(writer)
    expect((await get(first)).body).toMatchObject({ attachments: [], was_attached: true })
    const reader = await created([reading(first)])
    expect(await sh(reader, 'mkdir /v && mount -o ro /dev/vdb /v && cat /v/file; cat /sys/block/vdb/ro')).toBe(
      'kept\n1',
    )
  })
})

describe('the holder of a volume', () => {
  it('is one writer or several readers, and the refusal names it', async () => {
    const id = await made()
    const holder = await created([writing(id)])
    for (const second of [writing(id), reading(id)]) {
      const refused = await create([second])
      expect(refused).toMatchObject({ status: 409, body: { attached_to: holder } })
      expect(refused.body.error).toBe(`volume data is attached to sandbox ${holder}`)
    }
    expect(await agent.call('DELETE', `/v1/volumes/${id}`)).toMatchObject({
      status: 409,
      body: { attached_to: holder },
    })
    await agent.delete(holder)
    const readers = await Promise.all([created([reading(id)]), created([reading(id)])])
    expect((await get(id)).body.attachments.map((each) => each.sandbox_id).sort()).toEqual(readers.toSorted())
    expect(await create([writing(id)])).toMatchObject({ status: 409 })
    expect(await grow(id, 64)).toMatchObject({ status: 409 })
  })

  it(`is one of two concurrent writers, never both (${RACES} times)`, async () => {
    const id = await made()
    for (let round = 0; round < RACES; round++) {
      const answers = await Promise.all([create([writing(id)]), create([writing(id)])])
      const [winner, ...others] = answers.filter(({ status }) => status === 201)
      expect({ answers: answers.map(({ status }) => status).toSorted((a, b) => a - b), others }).toEqual({
        answers: [201, 409],
        others: [],
      })
      await agent.delete(winner?.body.id ?? '')
    }
  })

  it('keeps it while it is paused or hibernated, and after a restart of the agent', { tags: ['long'] }, async () => {
    const id = await made()
    const holder = await created([writing(id)])
    await sh(holder, 'mkdir /v && mount /dev/vdb /v && echo one > /v/file')
    await agent.act(holder, 'pause')
    expect(await create([writing(id)])).toMatchObject({ status: 409 })
    await agent.act(holder, 'resume')
    await agent.act(holder, 'hibernate')
    await agent.stop('SIGKILL')
    await agent.start()
    expect(await create([writing(id)])).toMatchObject({ status: 409 })
    expect(await sh(holder, 'cat /v/file; echo two > /v/file; sync; echo /dev/vd*')).toBe('one\n/dev/vda /dev/vdb')
    await agent.stop('SIGKILL')
    await agent.start()
    expect(await create([writing(id)])).toMatchObject({ status: 409 })
    expect(await sh(holder, 'cat /v/file')).toBe('two')
    await agent.delete(holder)
    const next = await created([writing(id)])
    expect(await sh(next, 'mkdir /v && mount /dev/vdb /v && cat /v/file')).toBe('two')
  })

  it('loses it when its VM dies; the synced data is there, and the file system is repaired', async () => {
    const id = await made()
    const dying = await created([writing(id)])
    await sh(dying, 'mkdir /v && mount /dev/vdb /v && echo synced > /v/file && sync && echo lost > /v/other')
    await killVm(dying)
    const next = await created([writing(id)])
    expect(await sh(next, 'mkdir /v && mount /dev/vdb /v && cat /v/file')).toBe('synced')
    expect(await sh(next, 'dmesg | grep -c "recovery complete" || true')).toBe('0')
  })
})

describe('copies of a sandbox', () => {
  it('share the volumes that it reads, and never those that it writes', { tags: ['faults'] }, async () => {
    const [own, shared] = [await made(), await made()]
    const parent = await created([writing(own), reading(shared)])
    await sh(parent, 'mkdir /v && mount /dev/vdb /v && echo parent > /v/file && sync')
    const { children } = await agent.forked(parent)
    const child = children[0]?.id ?? ''
    expect(await sh(child, 'echo /dev/vd*; cat /v/file 2>/dev/null || echo gone')).toBe('/dev/vda /dev/vdc\ngone')
    expect((await get(shared)).body.attachments).toHaveLength(2)
    expect((await get(own)).body.attachments).toEqual([{ sandbox_id: parent, read_only: false }])
    await agent.act(child, 'hibernate')
    expect(await sh(child, 'echo /dev/vd*')).toBe('/dev/vda /dev/vdc')
    const snapshot = randomUUID()
    expect(await agent.act(parent, 'snapshots', { id: snapshot })).toMatchObject({ status: 201 })
    expect(await sh(parent, 'cat /v/file')).toBe('parent')
    const other = await made({ size_mb: 48 })
    const copy = await created([writing(other)], { snapshot_id: snapshot })
    expect(await sh(copy, 'cat /sys/block/vd[b-z]/size; cat /v/file 2>/dev/null || echo gone')).toBe('98304\ngone')
    await sh(copy, 'mkdir /w && mount /dev/vd[b-z] /w && echo copy > /w/file && sync')
    expect(await sh(parent, 'cat /v/file')).toBe('parent')
  })
})

describe('a volume that grows', () => {
  it('has a larger file system, whether a sandbox has the volume or not', { tags: ['faults'] }, async () => {
    const id = await made({ size_mb: 32 })
    const freeMib = (sandbox: string) => sh(sandbox, 'df -m /v | tail -1 | awk "{print \\$2}"').then(Number)
    const first = await created([writing(id)])
    await sh(first, 'mkdir /v && mount /dev/vdb /v && echo kept > /v/file')
    expect(await grow(id, 64)).toMatchObject({ status: 200, body: { size_mb: 64 } })
    expect(await freeMib(first)).toBeGreaterThan(50)
    await agent.act(first, 'pause')
    expect(await grow(id, 96)).toMatchObject({ status: 409 })
    await agent.delete(first)
    expect(await grow(id, 128)).toMatchObject({ status: 200, body: { size_mb: 128 } })
    await run('e2fsck', ['-fn', dataOf(id)])
    // Not mounted: the agent grows the file system before the next sandbox gets it.
    const second = await created([writing(id)])
    expect(await grow(id, 200)).toMatchObject({ status: 200, body: { size_mb: 200 } })
    expect(await sh(second, 'cat /sys/block/vdb/size')).toBe(String(200 * 2048))
    await agent.delete(second)
    const third = await created([writing(id)])
    expect(await sh(third, 'mkdir /v && mount /dev/vdb /v && cat /v/file')).toBe('kept')
    expect(await freeMib(third)).toBeGreaterThan(170)
  })
})

describe('a copy of a volume', () => {
  it('has the content of one instant, even if a sandbox writes to the source', { tags: ['faults'] }, async () => {
    const id = await made()
    const writer = await created([writing(id)])
    await sh(writer, 'mkdir /v && mount /dev/vdb /v && echo first > /v/file')
    const copy = await made({ from: id, name: 'copy', size_mb: 64 })
    await sh(writer, 'echo second > /v/file; sync')
    const reader = await created([writing(copy)])
    expect(
      await sh(
        reader,
        'mkdir /v && mount /dev/vdb /v && cat /v/file && df -m /v | tail -1 | awk "{print \\$2 > 50}"; cat /v/file',
      ),
    ).toContain('first')
    expect(await sh(writer, 'cat /v/file')).toBe('second')
    expect((await get(copy)).body.used_bytes).toBeLessThan(30 * MIB)
  })
})
