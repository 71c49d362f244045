import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { copyFile, mkdir, mkdtemp, readdir, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { AgentId } from '@offshoot/contract/ids'
import { pino } from 'pino'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { writeChain } from '../../store/disks/chain-file.ts'
import type { LayerId } from '../../store/disks/layer-id.ts'
import { Layers } from '../../store/disks/layers.ts'
import { EventLog } from '../../store/events/event-log.ts'
import { DataDir } from '../../store/data-dir/data-dir.ts'
import { namedLayers } from '../../store/checkpoints/named-layers.ts'
import { Ledger } from '../../store/ledger/ledger.ts'
import { Snapshots } from '../../store/snapshots/snapshots.ts'
import { BuiltTemplates } from '../../store/templates/built-templates.ts'
import type { VmEnd } from '../../machine/vm/launch.ts'
import type { Vm } from '../../machine/vm/vm.ts'
import { Volumes } from '../../store/volumes/volumes.ts'
import type { Host } from '../model/host.ts'
import { purgeEntry } from './quarantine.ts'
import { Arrivals } from '../model/arrivals.ts'
import { reconcile } from './reconcile.ts'
import { Sandbox } from '../model/sandbox.ts'
import { sweepLayers } from '../cleanup/sweep-layers.ts'
import { watchVm } from '../lifecycle/watch-vm.ts'

const silent = pino({ level: 'silent' })
const LAYERS = ['a', 'b', 'c'].map((digit) => digit.repeat(24))
let folder: string
let host: Host

beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'reconcile-')))
  const dir = await DataDir.open(join(folder, 'agent'))
  const ledger = await Ledger.open(dir, silent, { findLayers: namedLayers })
  // Only the parts that the tests use.
  host = {
    store: {
      dir,
      ledger,
      checkpoints: { remove: (path: string) => rm(path, { recursive: true, force: true }) },
      layers: new Layers(dir, silent),
      snapshots: await Snapshots.open(dir.snapshots, ledger),
      events: await EventLog.open(dir.events, randomUUID() as AgentId),
      volumes: await Volumes.open(dir.volumes, ledger),
      templates: await BuiltTemplates.open(dir.templates, ledger),
    },
    platform: { cgroups: null, slots: { park: () => undefined } },
    sandboxes: new Map(),
    arrivals: new Arrivals(),
    pool: { spares: [] },
    zygotes: { all: [] },
    usage: { attach: () => undefined, forget: async () => undefined },
    wake: async () => undefined,
    log: silent,
  } as unknown as Host
})

afterEach(async () => {
  await host.store.events.close()
  await rm(folder, { recursive: true, force: true })
})

/** A sandbox with this manifest and a folder. */
async function sandbox(manifest: { status: string; layers?: string[] }): Promise<Sandbox> {
  const id = randomUUID()
  const place = { store: host.store, log: silent, wake: async () => ({ isCold: false }) }
  const made = new Sandbox({ id, workspace_id: '', layers: [], ...manifest } as unknown as Sandbox['manifest'], place)
  await mkdir(host.store.dir.hibernation(made.id), { recursive: true })
  host.sandboxes.set(made.id, made)
  return made
}

/** A process that looks like a QEMU in a sandbox's folder. */
async function startVm(id: string) {
  const program = join(folder, 'qemu-system-test')
  await copyFile('/bin/sleep', program)
  const cwd = join(host.store.dir.sandboxes, id, 'vm')
  await mkdir(cwd, { recursive: true })
  const child = spawn(program, ['600'], { cwd, stdio: 'ignore' })
  await once(child, 'spawn')
  return { child, ended: once(child, 'exit') }
}

it('ends orphaned processes, moves their folders to quarantine, and removes unfinished snapshots and unneeded layers', async () => {
  const hibernated = await sandbox({ status: 'hibernated', layers: LAYERS.slice(0, 1) })
  const paused = await sandbox({ status: 'paused' })
  paused.vm = { disk: { active: 'd'.repeat(24), layers: LAYERS.slice(1, 2) } } as unknown as Sandbox['vm']
  for (const layer of LAYERS) await writeFile(join(host.store.dir.layers, `${layer}.qcow2`), '')
  const stray = randomUUID()
  const { ended } = await startVm(stray)
  await mkdir(join(host.store.dir.snapshots, randomUUID()))
  await reconcile(host)
  expect((await ended)[1]).toBe('SIGKILL')
  expect(host.store.events.lastSeq).toBe(1)
  expect(new Set(await readdir(host.store.dir.sandboxes))).toEqual(new Set([hibernated.id, paused.id]))
  expect(await readdir(host.store.dir.sandbox(hibernated.id))).toEqual(['hibernation'])
  expect(await readdir(host.store.dir.sandbox(paused.id))).toEqual([])
  expect(await readdir(host.store.dir.snapshots)).toEqual([])
  const [entry] = host.store.ledger.quarantined
  expect(host.store.ledger.quarantined).toMatchObject([{ kind: 'sandbox', id: stray, path: `sandboxes/${stray}` }])
  // The object in quarantine may need any layer.
  expect(await readdir(host.store.dir.layers)).toHaveLength(LAYERS.length)
  await purgeEntry(host, entry?.entry ?? '')
  await reconcile(host)
  expect((await readdir(host.store.dir.layers)).toSorted()).toEqual(LAYERS.slice(0, 2).map((layer) => `${layer}.qcow2`))
  expect(await readdir(host.store.dir.retiredLayers)).toEqual([`${LAYERS[2]}.qcow2`])
})

it('ignores a sandbox that is changing', async () => {
  const changing = await sandbox({ status: 'running' })
  const change = Promise.withResolvers<void>()
  const changed = changing.change(() => change.promise)
  const { child, ended } = await startVm(changing.id)
  await reconcile(host)
  expect(child.exitCode ?? child.signalCode).toBe(null)
  expect(await readdir(host.store.dir.sandbox(changing.id))).toContain('hibernation')
  change.resolve()
  await changed
  // A process that is not the VM of its sandbox is an orphan.
  await reconcile(host)
  expect((await ended)[1]).toBe('SIGKILL')
  expect(await readdir(host.store.dir.sandbox(changing.id))).toEqual(['vm'])
})

/** A durable sandbox with the files of its disk: two frozen layers, and the active one in its folder. */
async function durableSandbox() {
  const made = await sandbox({ status: 'running' })
  made.manifest = { ...made.manifest, durable: true, slot: 1 }
  const [low = '', middle = '', active = ''] = LAYERS as LayerId[]
  const chain = { active: active as LayerId, layers: [low as LayerId, middle as LayerId] }
  for (const layer of chain.layers) await writeFile(join(host.store.dir.layers, `${layer}.qcow2`), '')
  await mkdir(host.store.dir.vm(made.id), { recursive: true })
  await writeFile(join(host.store.dir.vm(made.id), `${active}.qcow2`), '')
  await writeChain(host.store.dir.sandbox(made.id), chain, true)
  const ended = Promise.withResolvers<VmEnd>()
  made.vm = { disk: chain, ended: ended.promise, detach: async () => undefined } as unknown as Vm
  watchVm(host, made, made.vm)
  return { made, end: () => ended.resolve({ exitCode: null, signal: 'SIGKILL' }) }
}

const diskFull = Object.assign(new Error('no room'), { code: 'ENOSPC' })

it('keeps the layers of a durable disk while the agent records the end of its VM, and if that fails', async () => {
  const { made, end } = await durableSandbox()
  const swept: string[][] = []
  const append = vi.spyOn(host.store.events, 'append').mockImplementation(async () => {
    await sweepLayers(host)
    swept.push((await readdir(host.store.dir.layers)).toSorted())
    throw diskFull
  })
  end()
  const kept = LAYERS.map((layer) => `${layer}.qcow2`)
  await vi.waitFor(() => expect(swept).toHaveLength(1))
  await vi.waitFor(() => expect(made.transitions.isBusy).toBe(false))
  expect(swept).toEqual([kept])
  await sweepLayers(host)
  expect((await readdir(host.store.dir.layers)).toSorted()).toEqual(kept)

  append.mockRestore()
  await reconcile(host)
  expect((await readdir(host.store.dir.layers)).toSorted()).toEqual(kept)
  expect(made).toMatchObject({ manifest: { status: 'hibernated', cold: true, layers: LAYERS }, lost: null })
})

it('keeps the layers of a durable disk whose recorded chain is unreadable', async () => {
  const { made, end } = await durableSandbox()
  await writeFile(join(host.store.dir.sandbox(made.id), 'chain.json'), '')
  end()
  await vi.waitFor(() => expect(made.manifest.status).toBe('failed'))
  await vi.waitFor(() => expect(made.transitions.isBusy).toBe(false))
  await reconcile(host)
  expect(host.store.ledger.unreadable.idsOf('sandbox')).toEqual([made.id])
  expect(await readdir(host.store.dir.layers)).toHaveLength(2)
  expect(await readdir(host.store.dir.vm(made.id))).toEqual([`${LAYERS[2]}.qcow2`])
})

it('keeps the layers that an object in quarantine names, and retires the others', async () => {
  const stray = randomUUID()
  await mkdir(join(host.store.dir.sandboxes, stray, 'vm'), { recursive: true })
  const [low, active] = LAYERS as LayerId[]
  await writeChain(join(host.store.dir.sandboxes, stray), { active: active as LayerId, layers: [low as LayerId] }, true)
  for (const layer of LAYERS) await writeFile(join(host.store.dir.layers, `${layer}.qcow2`), '')
  await reconcile(host)
  expect(host.store.ledger.quarantined).toMatchObject([{ kind: 'sandbox', id: stray, layers: [low, active] }])
  await reconcile(host)
  expect((await readdir(host.store.dir.layers)).toSorted()).toEqual([low, active].map((layer) => `${layer}.qcow2`))
})
