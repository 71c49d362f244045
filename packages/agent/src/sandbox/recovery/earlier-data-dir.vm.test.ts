/** @module-tag faults */
import { execFile } from 'node:child_process'
import { createHash, createHmac, randomUUID } from 'node:crypto'
import { copyFile, mkdir, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import type { AgentSandbox, AgentSnapshotList } from '@offshoot/contract/agent-api'
import type { AgentQuarantine } from '@offshoot/contract/agent-quarantine'
import type { AgentVolumeList } from '@offshoot/contract/agent-volume'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { AgentProcess } from '../../test/agent-process.ts'

/** The records that commit 136b9a6 wrote, until `bin/up --down` ended its VMs, which leaves `running` in their manifests. */
const RECORDS = join(import.meta.dirname, '../../test/records-of-136b9a6.json')
const HIBERNATED = '7d230c9d-710a-43da-b676-da8c250e33a4'
const RUNNING = '4537a71f-0ef6-48de-9180-399619c02ea8'
const PAUSED = '63fd5326-dff8-4781-b657-2b7b27d243ad'
const DATABASE = 'd8f3d6d1-0d96-4a2a-b1d9-758ee329ba07'
const DATABASE_ASLEEP = 'f1097c89-2510-4983-8a59-9e679db5a160'
const SNAPSHOT = '8aaaad10-3ded-4cce-8150-f394684da8d1'

interface Records {
  readonly files: Readonly<Record<string, string>>
  readonly checkpoint_key: string
}
interface Disk {
  readonly bake: string
  readonly memory_mb: number
  readonly layers: readonly string[]
}

let agent: AgentProcess
let workspace: string

beforeAll(async () => {
  agent = await AgentProcess.create()
  const records = JSON.parse(await readFile(RECORDS, 'utf8')) as Records
  workspace = (JSON.parse(records.files[`sandboxes/${RUNNING}/manifest.json`] ?? '') as { workspace_id: string })
    .workspace_id
  await layOut(agent.dataDir, records)
  await agent.start()
})
afterAll(() => agent.destroy())

const ask = async <Body>(path: string) => (await agent.call<Body>('GET', path, { workspace: null })).body
const act = (id: string, what: string, body?: object) =>
  agent.call<AgentSandbox>('POST', `/v1/sandboxes/${id}/${what}`, { workspace, body: body ?? {} })
const sh = async (id: string, cmd: string) => {
  const { body } = await agent.call<{ stdout: string }>('POST', `/v1/sandboxes/${id}/exec`, {
    workspace,
    body: { cmd },
  })
  return body.stdout?.trim()
}

describe('a data directory of an earlier version', () => {
  it('contains all its objects, and no orphans', async () => {
    const { sandboxes, unreadable } = await agent.list()
    expect(unreadable).toEqual([])
    expect(Object.fromEntries(sandboxes.map(({ id, status }) => [id, status]))).toEqual({
      [HIBERNATED]: 'hibernated',
      [RUNNING]: 'failed',
      [PAUSED]: 'failed',
      // The agent boots it unasked, which takes its time.
      [DATABASE]: expect.stringMatching(/^(hibernated|running)$/),
      [DATABASE_ASLEEP]: 'hibernated',
    })
    expect(await ask<AgentQuarantine>('/v1/quarantine')).toEqual({ entries: [] })
    expect((await ask<AgentSnapshotList>('/v1/snapshots')).snapshots).toMatchObject([{ id: SNAPSHOT }])
    expect((await ask<AgentVolumeList>('/v1/volumes')).volumes.map(({ name }) => name).toSorted()).toEqual([
      'data',
      'idle',
    ])
    // Every layer that a checkpoint, a manifest or a chain names, the one that a database wrote to last among them.
    expect(await agent.layers()).toHaveLength(8)
  })

  it.each([
    ['hibernated', HIBERNATED],
    ['a database whose VM is gone', DATABASE],
  ])('lets a sandbox that is %s wake from its disk', async (_what, id) => {
    const { status, body } = await act(id, 'wake')
    expect({ status, body }).toMatchObject({ status: 200, body: { status: 'running' } })
    const ofIt = (await agent.records()).filter(({ event }) => event.sandbox_id === id)
    // Port events may follow.
    const woken = ofIt.findLast(({ event }) => event.type === 'sandbox.woken')
    expect(woken?.event).toMatchObject({ metadata: { cold: true } })
    expect(await sh(id, 'echo awake')).toBe('awake')
  })

  it('lets a sandbox use a volume with its data', async () => {
    const { volumes } = await ask<AgentVolumeList>('/v1/volumes')
    const id = randomUUID()
    const attached = volumes
      .filter(({ name }) => name === 'data')
      .map((volume) => ({ id: volume.id, read_only: false }))
    const body = { id, template: 'minimal', env: {}, volumes: attached }
    expect((await agent.call('POST', '/v1/sandboxes', { workspace, body })).status).toBe(201)
    expect(await sh(id, 'mkdir /data && mount /dev/vdb /data && cat /data/kept')).toBe('kept by 136b9a6')
  })

  it('lets a user delete its objects', async () => {
    for (const path of [`sandboxes/${PAUSED}`, `sandboxes/${HIBERNATED}`, `snapshots/${SNAPSHOT}`])
      expect((await agent.call('DELETE', `/v1/${path}`, { workspace })).status).toBe(204)
    await agent.stop()
    await agent.start()
    expect((await agent.list()).sandboxes.map(({ id }) => id)).not.toContain(PAUSED)
    expect(await ask<AgentQuarantine>('/v1/quarantine')).toEqual({ entries: [] })
  })
})

/**
 * Makes the data directory that the records describe. Bakes and layers, which are too large to be kept with the tests, are those of today's
 * `minimal`, under the names that the records have for them; seals of layers and signatures are made anew with the earlier key.
 */
async function layOut(dataDir: string, { files, checkpoint_key }: Records): Promise<void> {
  for (const name of await readdir(dataDir))
    if (!['bakes', 'accelerator.json'].includes(name)) await rm(join(dataDir, name), { recursive: true })
  const key = Buffer.from(checkpoint_key, 'base64')
  await writeFile(join(dataDir, 'checkpoint.key'), key, { mode: 0o600 })
  await mkdir(join(dataDir, 'layers'))
  const [fingerprint = ''] = await readdir(join(dataDir, 'bakes/minimal'))
  const today = join(dataDir, 'bakes/minimal', fingerprint)
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(dataDir, path)), { recursive: true, mode: 0o711 })
    const content = path.endsWith('.json') ? (JSON.parse(text) as Partial<Disk>) : {}
    for (const layer of content.layers ?? [])
      if (typeof layer === 'string')
        await copyFile(join(today, 'overlay.qcow2'), join(dataDir, 'layers', `${layer}.qcow2`))
    if (content.bake !== undefined)
      await layOutBake(today, join(dataDir, 'bakes', content.bake), content.memory_mb ?? 0)
    await writeFile(join(dataDir, path), text, { mode: 0o600 })
  }
  // The active layers, and the data of volumes.
  for (const path of Object.keys(files)) {
    const folder = join(dataDir, dirname(path))
    if (path.endsWith('chain.json')) await layOutActive(folder, join(today, 'overlay.qcow2'), files[path] ?? '')
    if (path.endsWith('volume.json')) await layOutVolume(folder)
    if (path.endsWith('checkpoint.json')) await signAnew(dataDir, path, key)
  }
}

/** Its memory, which is not restored, has the size of what was baked. */
async function layOutBake(from: string, to: string, memoryMib: number): Promise<void> {
  await mkdir(dirname(to), { recursive: true, mode: 0o711 })
  await promisify(execFile)('cp', ['--archive', '--link', '--no-target-directory', '--force', from, to])
  const memory = join(to, 'memory')
  await rm(memory)
  await writeFile(memory, '', { mode: 0o444 })
  await truncate(memory, memoryMib * 1024 * 1024)
}

async function layOutActive(folder: string, empty: string, chain: string): Promise<void> {
  const { active } = JSON.parse(chain) as { active: string }
  await mkdir(join(folder, 'vm'), { mode: 0o700 })
  await copyFile(empty, join(folder, 'vm', `${active}.qcow2`))
}

async function layOutVolume(folder: string): Promise<void> {
  const content = join(folder, '..', 'content')
  await mkdir(content, { recursive: true })
  await writeFile(join(content, 'kept'), 'kept by 136b9a6\n')
  await promisify(execFile)('mkfs.ext4', ['-q', '-d', content, join(folder, 'data'), '32M'])
  await rm(content, { recursive: true })
}

async function signAnew(dataDir: string, path: string, key: Buffer): Promise<void> {
  interface Sealed {
    readonly layers: { id: string }[]
  }
  const { checkpoint } = JSON.parse(await readFile(join(dataDir, path), 'utf8')) as { checkpoint: Sealed }
  const layers = []
  for (const { id } of checkpoint.layers) {
    const content = await readFile(join(dataDir, 'layers', `${id}.qcow2`))
    layers.push({ id, bytes: content.length, sha256: createHash('sha256').update(content).digest('hex') })
  }
  const content = { ...checkpoint, layers }
  const hmac = createHmac('sha256', key)
    .update(`${dirname(path)}\0${JSON.stringify(content)}`)
    .digest('hex')
  await writeFile(join(dataDir, path), `${JSON.stringify({ checkpoint: content, hmac })}\n`)
}
