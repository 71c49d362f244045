import { createHmac, randomBytes } from 'node:crypto'
import { appendFile, chmod, mkdir, mkdtemp, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Deadline } from '@offshoot/kit/deadline'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { newLayerId } from '../disks/layer-id.ts'
import type { Layers } from '../disks/layers.ts'
import { earlierMachineFingerprint } from '../../machine/vm/earlier-fingerprint.ts'
import { type EarlierMachine, learnEarlierMachine } from '../../machine/vm/earlier-machines.ts'
import type { Machine } from '../../machine/vm/machine.ts'
import { checkpointMachines } from '../../machine/capture/checkpoint-machines.ts'
import { CheckpointDamaged, CheckpointIncompatible } from './checkpoint-errors.ts'
import { formatCheckpoint } from './checkpoint.ts'
import type { Checkpoints } from './checkpoints.ts'
import { loadSigningKeys } from './signing-key.ts'
import { openCheckpoints, openLayers, ORIGIN } from '../../test/test-checkpoints.ts'
import { Thread } from '../../machine/capture/thread.ts'

const QEMU = { path: '/usr/bin/qemu-system-x86_64', version: '7.2.22', build: '1-1' }
const machine: Machine = { accelerator: 'tcg', tscKhz: 2_600_000, vcpus: 1, memoryMib: 512, network: 'tap' }
const machineOf = () => machine
const deadline = Deadline.after(60_000, 'test')

let root: string
let layers: Layers
let folder: string
const layer = newLayerId()

const fresh = (qemu = QEMU, earlier: readonly EarlierMachine[] = []) =>
  openCheckpoints(
    root,
    checkpointMachines(() => [qemu], earlier),
  )

async function sealed(checkpoints: Checkpoints<Machine>) {
  const captured = { folder, layers: [layer], bases: 0, qemuVersion: QEMU.version }
  return checkpoints.seal(captured, ORIGIN, machine, deadline)
}

const silent = { error: () => undefined }

/** Replaces a file by another one of the same size. */
const replace = async (path: string) => {
  const content = await readFile(path)
  content[content.length - 1] = 1
  await writeFile(`${path}.new`, content)
  await rename(`${path}.new`, path)
}

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'offshoot-checkpoints-'))
  layers = await openLayers(root)
  folder = join(root, 'snapshots/one')
  await mkdir(folder, { recursive: true })
  await writeFile(layers.path(layer), 'layer')
  for (const name of ['pages', 'runs', 'state']) await writeFile(join(folder, name), name.repeat(1000))
})
afterEach(() => rm(root, { recursive: true, force: true }))

describe('a sealed checkpoint', () => {
  it('can be read by its agent and by a later one', async () => {
    const content = await sealed(await fresh())
    expect(content).toMatchObject({ ...ORIGIN, bytes: 5000 + 4000 + 5000 + 5, memory: [{ pages: { bytes: 5000 } }] })
    expect(content.layers.map(({ id, bytes }) => [id, bytes])).toEqual([[layer, 5]])
    const opened = await (await fresh()).open(folder, machineOf, deadline)
    expect(opened).toEqual({ ...content, qemuVersion: QEMU.version })
    expect(await (await fresh()).read(folder)).toEqual(content)
    expect((await stat(join(root, 'checkpoint.key'))).mode & 0o777).toBe(0o600)
  })

  it.each<readonly [string, () => Promise<void>]>([
    ['pages changed in place', () => writeFile(join(folder, 'pages'), 'other')],
    ['one byte changed in a file of the same size', () => replace(join(folder, 'pages'))],
    ['runs appended to', () => appendFile(join(folder, 'runs'), 'x')],
    ['the state removed', () => rm(join(folder, 'state'))],
    ['a layer changed', () => writeFile(layers.path(layer), 'LAYER')],
    ['a layer removed', () => rm(layers.path(layer))],
    ['nothing written of it', () => rm(join(folder, 'checkpoint.json'))],
    ['half of it written', () => writeFile(join(folder, 'checkpoint.json'), '{"checkpoint":')],
    ['a key that is another', () => writeFile(join(root, 'checkpoint.key'), randomBytes(32))],
  ])('is refused with %s, even after an earlier check', async (_what, change) => {
    const checkpoints = await fresh()
    await sealed(checkpoints)
    await checkpoints.open(folder, machineOf, deadline)
    for (const name of ['pages', 'runs', 'state', 'checkpoint.json']) await chmod(join(folder, name), 0o600)
    await change()
    await expect((await fresh()).open(folder, machineOf, deadline)).rejects.toThrow(CheckpointDamaged)
    if (_what.startsWith('a key')) return
    await expect(checkpoints.open(folder, machineOf, deadline)).rejects.toThrow(CheckpointDamaged)
  })

  it('cannot replace another checkpoint', async () => {
    const checkpoints = await fresh()
    await sealed(checkpoints)
    await rename(folder, join(root, 'snapshots/two'))
    await expect(checkpoints.open(join(root, 'snapshots/two'), machineOf, deadline)).rejects.toThrow(CheckpointDamaged)
  })

  it('cannot be changed without a new signature', async () => {
    await sealed(await fresh())
    const path = join(folder, 'checkpoint.json')
    await chmod(path, 0o600)
    await writeFile(path, (await readFile(path, 'utf8')).replace('base/0123', 'base/0124'))
    await expect((await fresh()).read(folder)).rejects.toThrow('changed on disk')
  })

  it.each([
    ['QEMU', { ...QEMU, version: '8.0.0' }, machine],
    ['machine', QEMU, { ...machine, memoryMib: 1024 }],
    ['accelerator', QEMU, { ...machine, accelerator: 'kvm' as const }],
  ])('is refused by a host with another %s, with the reason', async (_what, qemu, other) => {
    await sealed(await fresh())
    const opened = (await fresh(qemu)).open(folder, () => other, deadline)
    await expect(opened).rejects.toThrow(CheckpointIncompatible)
    await expect(opened).rejects.toThrow('another version of QEMU')
  })

  it('is restored if it names its machine in the earlier form, even after an update of QEMU', async () => {
    const content = await sealed(await fresh())
    const earlierMachine = await earlierMachineFingerprint({ qemu: QEMU, machine })
    const { tsc_khz: _counter, ...earlier } = { ...formatCheckpoint(content), machine: earlierMachine }
    const { current: key } = await load()
    const hmac = createHmac('sha256', key).update('snapshots/one').update('\0').update(JSON.stringify(earlier))
    const text = JSON.stringify({ checkpoint: earlier, hmac: hmac.digest('hex') })
    await writeFile(join(folder, 'checkpoint.json'), text)
    await (await fresh()).open(folder, machineOf, deadline)

    const updated = { ...QEMU, version: '7.2.23', build: '2' }
    await expect((await fresh(updated)).open(folder, machineOf, deadline)).rejects.toThrow(CheckpointIncompatible)
    const [known, accelerator] = [join(root, 'known.json'), join(root, 'accelerator.json')]
    const probed = { tsc_khz: machine.tscKhz, tried: `${QEMU.version} ${QEMU.build} abc` }
    await writeFile(accelerator, JSON.stringify(probed))
    await learnEarlierMachine(known, accelerator)
    await rm(accelerator)
    const learnt = await learnEarlierMachine(known, accelerator)
    const measuredAnew = () => ({ ...machine, tscKhz: machine.tscKhz + 100 })
    await (await fresh(updated, learnt)).open(folder, measuredAnew, deadline)
    const newSeries = { ...QEMU, version: '8.0.0', build: '2' }
    await expect((await fresh(newSeries, learnt)).open(folder, machineOf, deadline)).rejects.toThrow(
      CheckpointIncompatible,
    )
  })

  it('can share its files with another checkpoint without reading them again', async () => {
    const checkpoints = await fresh()
    const content = await sealed(checkpoints)
    const other = join(root, 'snapshots/two')
    await checkpoints.link(folder, content, other)
    const twice = { folder: other, layers: [layer], bases: 0, qemuVersion: QEMU.version }
    const { bytes } = await checkpoints.seal(twice, ORIGIN, machine, deadline)
    const names = ['pages', 'runs', 'state'].map((name) => join(other, name))
    for (const name of names) expect((await stat(name)).nlink).toBe(2)
    const read = vi.spyOn(Thread.prototype, 'ask')
    await expect(checkpoints.open(folder, machineOf, deadline)).resolves.toMatchObject({ bytes })
    await checkpoints.remove(folder)
    await expect(checkpoints.open(other, machineOf, deadline)).resolves.toMatchObject({ bytes })
    expect(read).not.toHaveBeenCalled()
    await appendFile(names[0] ?? '', 'more')
    await expect(checkpoints.open(other, machineOf, deadline)).rejects.toThrow('pages was changed on disk')
    expect(read).toHaveBeenCalledOnce()
    read.mockRestore()
  })

  it('forgets the hashes of files that change while they are linked', async () => {
    const checkpoints = await fresh()
    const content = await sealed(checkpoints)
    await replace(join(folder, 'pages'))
    await checkpoints.link(folder, content, join(root, 'snapshots/two'))
    await expect(checkpoints.open(folder, machineOf, deadline)).rejects.toThrow('pages was changed on disk')
  })

  it('has the form of earlier versions if it has no base', async () => {
    const { memory, ...rest } = await sealed(await fresh())
    const { checkpoint: stored } = JSON.parse(await readFile(join(folder, 'checkpoint.json'), 'utf8'))
    expect(stored).toEqual({ ...rest, ...memory[0] })
  })

  it('does not exist after its removal', async () => {
    const checkpoints = await fresh()
    await sealed(checkpoints)
    await checkpoints.remove(folder)
    await checkpoints.remove(folder)
    await expect(stat(folder)).rejects.toThrow('ENOENT')
  })
})

const load = () => loadSigningKeys(join(root, 'checkpoint.key'), silent)

describe('the key', () => {
  it('is created once', async () => {
    expect(await load()).toEqual(await load())
  })

  it.each([
    ['has another length', (path: string) => writeFile(path, 'short')],
    [
      'cannot be read',
      async (path: string) => {
        await rm(path)
        await mkdir(path)
      },
    ],
  ])('is replaced by a second one if it %s, and is valid again after a repair', async (_what, damage) => {
    const path = join(root, 'checkpoint.key')
    await sealed(await fresh())
    const first = await readFile(path)
    await damage(path)
    await expect((await fresh()).read(folder)).rejects.toThrow(CheckpointDamaged)
    const { current } = await load()
    expect(current).not.toEqual(first)
    expect((await load()).current).toEqual(current)
    await rm(path, { recursive: true })
    await writeFile(path, first)
    expect(await load()).toEqual({ current, accepted: [first, current] })
    expect(await (await fresh()).read(folder)).toMatchObject(ORIGIN)
  })
})

describe('a checkpoint of another host', () => {
  it('is signed for its place once every file is verified', async () => {
    const content = { ...(await sealed(await fresh())), bake: 'imported/0123' }
    const place = join(root, 'sandboxes/one/hibernation')
    await (await fresh()).accept(folder, place, content, deadline)
    await expect((await fresh()).read(folder)).rejects.toThrow(CheckpointDamaged)
    await mkdir(join(root, 'sandboxes/one'), { recursive: true })
    await rename(folder, place)
    expect(await (await fresh()).open(place, machineOf, deadline)).toEqual({ ...content, qemuVersion: QEMU.version })
  })

  it.each<readonly [string, () => Promise<void>]>([
    ['pages', () => replace(join(folder, 'pages'))],
    ['runs', () => appendFile(join(folder, 'runs'), 'x')],
    ['state', () => replace(join(folder, 'state'))],
    ['layer', () => replace(layers.path(layer))],
  ])('is not signed if its %s is not what was sent', async (_what, change) => {
    const checkpoints = await fresh()
    const content = await sealed(checkpoints)
    await rm(join(folder, 'checkpoint.json'))
    await change()
    await expect(checkpoints.accept(folder, folder, content, deadline)).rejects.toThrow('is not what was sent')
    await expect(checkpoints.read(folder)).rejects.toThrow('there is no complete checkpoint')
  })
})
