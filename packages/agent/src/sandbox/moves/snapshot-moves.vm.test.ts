/** @module-tag long */
import { randomUUID } from 'node:crypto'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { AgentSandbox } from '@offshoot/contract/agent-api'
import { BAKE_MISSING } from '@offshoot/contract/agent-move'
import { snapshotHeader, type SnapshotHeader } from '@offshoot/contract/move-stream'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { AgentProcess, eventually } from '../../test/agent-process.ts'
import { imagesWithDurable } from '../../test/durable-images.ts'
import { withHeader } from '../../test/moving.ts'
import {
  arriveSnapshot,
  contentOf,
  exportedSnapshot,
  listedSnapshots,
  openSnapshot,
  snapshotOf,
} from '../../test/moving-snapshots.ts'

let images: string
let [home, away]: AgentProcess[] = []

beforeAll(async () => {
  images = await mkdtemp(join(tmpdir(), 'offshoot-images-'))
  const imagesDir = await imagesWithDurable(process.env['OFFSHOOT_IMAGES_DIR'] ?? '', images)
  home = await AgentProcess.create(undefined, { images_dir: imagesDir, templates: ['minimal', 'durable'] })
  away = await AgentProcess.create()
  await home.prepare()
  await Promise.all([home.start(), away.start()])
})
afterAll(async () => {
  await home?.destroy()
  await away?.destroy()
  await rm(images, { recursive: true, force: true })
})

function agents(): { readonly home: AgentProcess; readonly away: AgentProcess } {
  if (home === undefined || away === undefined) throw new Error('the agents do not run')
  return { home, away }
}

/** A sandbox from a snapshot. */
async function restored(on: AgentProcess, snapshot: string, more: object = {}) {
  const body = { id: randomUUID(), template: 'minimal', env: {}, snapshot_id: snapshot, ...more }
  return on.call<AgentSandbox & { detail?: string }>('POST', '/v1/sandboxes', { body })
}

/** A snapshot of a sandbox with a file, a file in memory, and a background process. The sandbox is deleted. */
async function taken(on: AgentProcess, template = 'minimal'): Promise<{ readonly id: string; readonly pid: string }> {
  const sandbox = await on.created({}, template)
  await on.sh(sandbox.id, 'echo kept > /root/file; sync; echo remembered > /run/memory')
  const pid = await on.sh(sandbox.id, 'sleep 100000 >/dev/null 2>&1 & echo $!')
  const id = await snapshotOf(on, sandbox.id)
  await on.delete(sandbox.id)
  return { id, pid }
}

async function stateOf(on: AgentProcess, sandbox: string, pid: string): Promise<string> {
  return on.sh(sandbox, `cat /root/file /run/memory 2>/dev/null; tr '\\0' ' ' < /proc/${pid}/cmdline 2>/dev/null`)
}

const WHOLE = 'kept\nremembered\nsleep 100000'

async function remains({ dataDir }: AgentProcess): Promise<string[]> {
  const folders = ['arrivals', 'snapshots', 'layers'].map((name) => readdir(join(dataDir, name)))
  return (await Promise.all(folders)).flat()
}

async function importedBakes({ dataDir }: AgentProcess): Promise<string[]> {
  return readdir(join(dataDir, 'bakes', 'imported')).catch(() => [])
}

describe('a snapshot that another host gets', () => {
  it('is restored there with memory, processes and disk, and stays what it is at home', async () => {
    const { home, away } = agents()
    const { id, pid } = await taken(home)
    const content = await contentOf(home, id)
    expect(content).toMatchObject({ has_memory: true })
    const stream = await exportedSnapshot(home, id)
    expect(await arriveSnapshot(away, id, stream)).toMatchObject({ status: 200, body: { id, origin: 'user' } })
    expect(await arriveSnapshot(away, id, Buffer.from('already there'))).toMatchObject({ status: 200, body: { id } })
    await away.stop('SIGKILL')
    await away.start()
    expect(await listedSnapshots(away)).toEqual([id])
    expect(await contentOf(away, id)).toMatchObject({ bake: { hash: content.bake.hash }, has_memory: true })

    for (const on of [away, home]) {
      const made = await restored(on, id)
      expect([made.status, made.body.boot_mode]).toEqual([201, 'snapshot'])
      expect(await stateOf(on, made.body.id, pid)).toBe(WHOLE)
      await on.delete(made.body.id)
    }

    const later = await taken(home)
    const short = await exportedSnapshot(home, later.id, `have=${content.bake.hash}`)
    expect(short.length).toBeLessThan(stream.length)
    expect(await arriveSnapshot(away, later.id, short)).toMatchObject({ status: 200 })
    expect((await away.call('DELETE', `/v1/snapshots/${id}`)).status).toBe(204)
    const made = await restored(away, later.id)
    expect(await stateOf(away, made.body.id, later.pid)).toBe(WHOLE)
    await away.delete(made.body.id)
    expect((await away.call('DELETE', `/v1/snapshots/${later.id}`)).status).toBe(204)
    await eventually('nothing is left there', async () => {
      return (await remains(away)).length === 0 && (await importedBakes(away)).length === 0
    })
    for (const gone of [id, later.id]) expect((await home.call('DELETE', `/v1/snapshots/${gone}`)).status).toBe(204)
  })

  it('comes completely if it is deleted at home while it is sent', { tags: ['long'] }, async () => {
    const { home, away } = agents()
    const { id, pid } = await taken(home)
    const response = await openSnapshot(home, id)
    const reader = response.body?.getReader()
    const first = await reader?.read()
    expect((await home.call('DELETE', `/v1/snapshots/${id}`)).status).toBe(204)
    expect((await openSnapshot(home, id)).status).toBe(404)
    const stream = new ReadableStream({
      async start(controller) {
        for (let part = first; part !== undefined && !part.done; part = await reader?.read())
          controller.enqueue(part.value)
        controller.close()
      },
    })
    expect((await arriveSnapshot(away, id, stream)).status).toBe(200)
    const made = await restored(away, id)
    expect(await stateOf(away, made.body.id, pid)).toBe(WHOLE)
    await away.delete(made.body.id)
    expect((await away.call('DELETE', `/v1/snapshots/${id}`)).status).toBe(204)
    await eventually('nothing is left at home', async () => (await remains(home)).length === 0)
  })

  it(
    'is there completely or not at all if its stream is damaged, foreign or interrupted',
    { tags: ['long'] },
    async () => {
      const { home, away } = agents()
      await eventually('no bake is there', async () => (await importedBakes(away)).length === 0)
      const { id } = await taken(home)
      const stream = await exportedSnapshot(home, id)
      const half = stream.subarray(0, stream.length / 2)
      const flipped = Buffer.from(stream)
      flipped.writeUInt8(flipped.readUInt8(half.length) ^ 1, half.length)
      const changed = (change: (header: SnapshotHeader) => SnapshotHeader) => withHeader(stream, change, snapshotHeader)
      const foreign = await changed((header) => ({
        ...header,
        snapshot: { ...header.snapshot, workspace_id: randomUUID() },
      }))
      const withoutMemory = await changed((header) => ({
        ...header,
        memory: null,
        files: header.files.filter(({ name }) => !name.startsWith('memory/')),
      }))
      const other = await changed((header) => ({
        ...header,
        files: header.files.map((file) => (file.name === 'layers/0' ? { ...file, sha256: '0'.repeat(64) } : file)),
      }))
      for (const damaged of [half, flipped, foreign, withoutMemory, other, Buffer.from('nothing')]) {
        expect(await arriveSnapshot(away, id, damaged)).toMatchObject({ status: 400 })
      }
      const { bake } = await contentOf(home, id)
      const withoutBake = await exportedSnapshot(home, id, `have=${bake.hash}`)
      expect(await arriveSnapshot(away, id, withoutBake)).toMatchObject({ status: 409, body: { detail: BAKE_MISSING } })
      expect(await remains(away)).toEqual([])

      const begun = () => eventually('a half import', async () => (await readdir(arriving)).length > 0)
      const arriving = join(away.dataDir, 'arrivals')
      const interrupted = arriveSnapshot(away, id, unfinished(half)).catch(() => null)
      await begun()
      expect(await arriveSnapshot(away, id, stream)).toMatchObject({ status: 409 })
      await away.stop('SIGKILL')
      await interrupted
      await away.start()
      expect([await readdir(arriving), await listedSnapshots(away)]).toEqual([[], []])
      const cancelled = arriveSnapshot(away, id, unfinished(half))
      await begun()
      expect((await away.call('DELETE', `/v1/snapshots/${id}`)).status).toBe(204)
      expect(await cancelled).toMatchObject({ status: 404 })
      expect((await arriveSnapshot(away, id, stream)).status).toBe(200)
      for (const on of [home, away]) expect((await on.call('DELETE', `/v1/snapshots/${id}`)).status).toBe(204)
      await eventually('nothing is left there', async () => (await remains(away)).length === 0)
    },
  )

  it(
    'is booted from its disk if it came without its memory, which only durable ones may',
    { tags: ['long'] },
    async () => {
      const { home, away } = agents()
      const { id } = await taken(home, 'durable')
      const whole = await exportedSnapshot(home, id, 'only=bake')
      const disk = await exportedSnapshot(home, id, 'memory=none')
      expect(disk.length).toBeGreaterThan(whole.length)
      expect((await arriveSnapshot(away, id, disk)).status).toBe(200)
      await away.stop('SIGKILL')
      await away.start()
      expect(await contentOf(away, id)).toMatchObject({ has_memory: false })
      for (const more of [{}, { without_memory: true }]) {
        const made = await restored(away, id, more)
        expect([made.status, made.body.boot_mode]).toEqual([201, 'cold'])
        expect(await stateOf(away, made.body.id, '1')).toMatch(/^kept/)
        expect(await stateOf(away, made.body.id, '1')).not.toContain('remembered')
        await away.delete(made.body.id)
      }
      const again = await exportedSnapshot(away, id)
      expect((await home.call('DELETE', `/v1/snapshots/${id}`)).status).toBe(204)
      await eventually('it is gone at home', async () => (await remains(home)).length === 0)
      expect((await arriveSnapshot(home, id, again)).status).toBe(200)
      expect((await restored(home, id)).body.boot_mode).toBe('cold')
      const { id: other } = await taken(home)
      const refused = await openSnapshot(home, other, 'memory=none')
      expect([refused.status, await refused.json()]).toMatchObject([400, { error: expect.stringContaining('durable') }])
    },
  )
})

/** A body that never ends. */
function unfinished(content: Buffer): ReadableStream {
  return new ReadableStream({ start: (controller) => controller.enqueue(new Uint8Array(content)) })
}
