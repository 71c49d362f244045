import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { copyFile, mkdir, mkdtemp, readdir, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { AgentId } from '@offshoot/contract/ids'
import { pino } from 'pino'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { Layers } from '../disks/layers.ts'
import { EventLog } from '../events/event-log.ts'
import { DataDir } from '../host/data-dir.ts'
import { Snapshots } from '../snapshots/snapshots.ts'
import type { Host } from './host.ts'
import { reconcile } from './reconcile.ts'
import { Sandbox } from './sandbox.ts'

const silent = pino({ level: 'silent' })
const LAYERS = ['a', 'b', 'c'].map((digit) => digit.repeat(24))
let folder: string
let host: Host

beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'reconcile-')))
  const dir = await DataDir.open(join(folder, 'agent'))
  // Only what is looked at.
  host = {
    dir,
    cgroups: null,
    layers: new Layers(dir.layers),
    snapshots: await Snapshots.open(dir.snapshots),
    events: await EventLog.open(dir.events, randomUUID() as AgentId),
    sandboxes: new Map(),
    pool: { spares: [] },
    log: silent,
  } as unknown as Host
})

afterEach(async () => {
  await host.events.close()
  await rm(folder, { recursive: true, force: true })
})

/** A sandbox with a folder, as a manifest would make it. */
async function sandbox(manifest: { status: string; layers?: string[] }): Promise<Sandbox> {
  const id = randomUUID()
  const place = { dir: host.dir, log: silent, wake: async () => ({ isCold: false }) }
  const made = new Sandbox({ id, workspace_id: '', layers: [], ...manifest } as unknown as Sandbox['manifest'], place)
  await mkdir(host.dir.hibernation(made.id), { recursive: true })
  host.sandboxes.set(made.id, made)
  return made
}

/** A program that passes for a QEMU in a sandbox's folder. */
async function startVm(id: string) {
  const program = join(folder, 'qemu-system-test')
  await copyFile('/bin/sleep', program)
  const cwd = join(host.dir.sandboxes, id, 'vm')
  await mkdir(cwd, { recursive: true })
  const child = spawn(program, ['600'], { cwd, stdio: 'ignore' })
  await once(child, 'spawn')
  return { child, ended: once(child, 'exit') }
}

it('ends processes and removes folders, snapshots and layers that nobody owns, and only those', async () => {
  const hibernated = await sandbox({ status: 'hibernated', layers: LAYERS.slice(0, 1) })
  const paused = await sandbox({ status: 'paused' })
  paused.vm = { disk: { active: 'd'.repeat(24), layers: LAYERS.slice(1, 2) } } as unknown as Sandbox['vm']
  for (const layer of LAYERS) await writeFile(join(host.dir.layers, `${layer}.qcow2`), '')
  const stray = randomUUID()
  const { ended } = await startVm(stray)
  await mkdir(join(host.dir.snapshots, randomUUID()))
  await reconcile(host)
  expect((await ended)[1]).toBe('SIGKILL')
  expect(host.events.lastSeq).toBe(1)
  expect(new Set(await readdir(host.dir.sandboxes))).toEqual(new Set([hibernated.id, paused.id]))
  expect(await readdir(host.dir.sandbox(hibernated.id))).toEqual(['hibernation'])
  expect(await readdir(host.dir.sandbox(paused.id))).toEqual([])
  expect(await readdir(host.dir.snapshots)).toEqual([])
  expect((await readdir(host.dir.layers)).toSorted()).toEqual(LAYERS.slice(0, 2).map((layer) => `${layer}.qcow2`))
})

it('leaves alone what is changing', async () => {
  const changing = await sandbox({ status: 'running' })
  const change = Promise.withResolvers<void>()
  const changed = changing.change(() => change.promise)
  const { child, ended } = await startVm(changing.id)
  await reconcile(host)
  expect(child.exitCode ?? child.signalCode).toBe(null)
  expect(await readdir(host.dir.sandbox(changing.id))).toContain('hibernation')
  change.resolve()
  await changed
  // A second process of a sandbox that has one, or none, is a leftover.
  await reconcile(host)
  expect((await ended)[1]).toBe('SIGKILL')
  expect(await readdir(host.dir.sandbox(changing.id))).toEqual(['vm'])
})
