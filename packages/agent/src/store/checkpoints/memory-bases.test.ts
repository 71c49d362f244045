import { access, appendFile, chmod, mkdir, mkdtemp, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Deadline } from '@offshoot/kit/deadline'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { openCheckpoints, ORIGIN } from '../../test/test-checkpoints.ts'
import { Thread } from '../../machine/capture/thread.ts'
import { CheckpointDamaged } from './checkpoint-errors.ts'
import { memoryFiles } from './checkpoint-files.ts'
import type { Checkpoints } from './checkpoints.ts'
import type { Base } from './memory-bases.ts'

const deadline = Deadline.after(60_000, 'test')
const machine = {}
const machines = { describe: async () => ({ machine: 'this', tsc_khz: 1 }), findQemu: async () => '7.2.22' }
const content = (text: string) => text.repeat(1000)

let root: string
let hibernation: string
let base: string

const fresh = () => openCheckpoints<object>(root, machines)

/** A hibernation whose capture has kept this number of bases. */
async function hibernate(checkpoints: Checkpoints<object>, offered: readonly Base[], kept: number, text: string) {
  await mkdir(hibernation, { recursive: true })
  for (const name of ['pages', 'runs', 'state']) await writeFile(join(hibernation, name), content(text))
  const bases = offered.slice(0, kept)
  await checkpoints.bases.link(
    bases.map(({ files }) => files),
    hibernation,
  )
  const captured = { folder: hibernation, layers: [], bases: kept, qemuVersion: '7.2.22' }
  const sealed = await checkpoints.seal(captured, ORIGIN, machine, deadline, bases)
  await checkpoints.remove(base)
  return sealed
}

const wake = (checkpoints: Checkpoints<object>) => checkpoints.bases.keep(hibernation, base)
const open = (checkpoints: Checkpoints<object>, folder = hibernation) =>
  checkpoints.open(folder, () => machine, deadline)
const offer = (checkpoints: Checkpoints<object>) => checkpoints.bases.offer(base, hibernation, deadline)
const pagesIn = (folder: string, bases: number) =>
  Promise.all(memoryFiles(folder, bases).map(async ({ pages }) => (await readFile(pages, 'utf8'))[0]))

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'offshoot-bases-'))
  hibernation = join(root, 'sandboxes/one/hibernation')
  base = join(root, 'sandboxes/one/memory-base')
  await mkdir(join(root, 'sandboxes/one'), { recursive: true })
})
afterEach(() => rm(root, { recursive: true, force: true }))

/** Two hibernations, the second with the first as its base. */
async function twice(): Promise<Checkpoints<object>> {
  const checkpoints = await fresh()
  await hibernate(checkpoints, [], 0, 'a')
  await wake(checkpoints)
  await hibernate(checkpoints, await offer(checkpoints), 1, 'b')
  return checkpoints
}

describe('a checkpoint over a base', () => {
  it('is complete for its agent and a later one, and its bases are not read again', async () => {
    const checkpoints = await fresh()
    const first = await hibernate(checkpoints, [], 0, 'a')
    await wake(checkpoints)
    const read = vi.spyOn(Thread.prototype, 'ask')
    const second = await hibernate(checkpoints, await offer(checkpoints), 1, 'b')
    const own = ['pages', 'runs', 'state'].map((name) => ({ path: join(hibernation, name) }))
    // The files are read concurrently, in any order.
    for (const file of own)
      expect(read.mock.calls).toContainEqual(['seal', expect.objectContaining(file), expect.anything()])
    const opened = { ...second, qemuVersion: '7.2.22' }
    expect(await open(checkpoints)).toEqual(opened)
    expect(read).toHaveBeenCalledTimes(3)
    read.mockRestore()
    expect(second.memory).toEqual([first.memory[0], expect.anything()])
    expect(second.bytes).toBe(5000)
    expect(await open(await fresh())).toEqual(opened)
    expect(await pagesIn(hibernation, 1)).toEqual(['a', 'b'])
    await expect(access(base)).rejects.toThrow('ENOENT')
  })

  it('can be sealed by an agent that has not read its base', async () => {
    await hibernate(await fresh(), [], 0, 'a')
    await wake(await fresh())
    const checkpoints = await fresh()
    const offered = await offer(checkpoints)
    // A damaged base must not be sealed as if it were correct.
    const pages = join(base, 'pages')
    await rename(pages, `${pages}.old`)
    await writeFile(pages, content('x'))
    await hibernate(checkpoints, offered, 1, 'b')
    await expect(open(checkpoints)).rejects.toThrow('base-0.pages was changed on disk')
  })

  it('drops the bases that its capture did not keep', async () => {
    const checkpoints = await twice()
    await wake(checkpoints)
    const offered = await offer(checkpoints)
    expect(offered).toHaveLength(2)
    await hibernate(checkpoints, offered, 1, 'c')
    expect(await pagesIn(hibernation, 1)).toEqual(['a', 'c'])
    expect((await stat(join(hibernation, 'base-0.pages'))).nlink).toBe(1)
    await open(await fresh())
  })

  it('shares all its files with a snapshot, which outlives it', async () => {
    const checkpoints = await twice()
    const snapshot = join(root, 'sandboxes/snapshot')
    await checkpoints.link(hibernation, await open(checkpoints), snapshot)
    await checkpoints.seal({ folder: snapshot, layers: [], bases: 1, qemuVersion: '7.2.22' }, ORIGIN, machine, deadline)
    await checkpoints.remove(hibernation)
    await open(await fresh(), snapshot)
    expect(await pagesIn(snapshot, 1)).toEqual(['a', 'b'])
  })

  it.each(['base-0.pages', 'base-0.runs', 'pages', 'runs', 'state'])('is refused if %s was changed', async (name) => {
    await twice()
    await appendFile(join(hibernation, name), 'x')
    const opened = open(await fresh())
    await expect(opened).rejects.toThrow(CheckpointDamaged)
    await expect(opened).rejects.toThrow(`${name} was changed on disk`)
  })

  it('has a form that an agent without bases refuses', async () => {
    await twice()
    const { checkpoint } = JSON.parse(await readFile(join(hibernation, 'checkpoint.json'), 'utf8'))
    expect(checkpoint).not.toHaveProperty('pages')
    expect(checkpoint).not.toHaveProperty('runs')
    expect(checkpoint.memory).toHaveLength(2)
  })
})

describe('a base', () => {
  it('is no checkpoint', async () => {
    const checkpoints = await twice()
    await wake(checkpoints)
    await expect(open(checkpoints, base)).rejects.toThrow(CheckpointDamaged)
    await expect(open(checkpoints)).rejects.toThrow(CheckpointDamaged)
  })

  it('replaces a base that an interrupted agent has left', async () => {
    const checkpoints = await fresh()
    await hibernate(checkpoints, [], 0, 'a')
    await mkdir(base)
    await writeFile(join(base, 'pages'), 'older')
    await wake(checkpoints)
    expect(await pagesIn(base, 0)).toEqual(['a'])
  })

  it('may be absent', async () => {
    expect(await offer(await fresh())).toEqual([])
  })

  it.each<readonly [string, () => Promise<void>]>([
    ['its pages are gone', () => rm(join(base, 'pages'))],
    ['its pages were cut', () => writeFile(join(base, 'pages'), '')],
    ['its runs were changed', () => writeFile(join(base, 'runs'), content('b'))],
    ['its record is gone', () => rm(join(base, 'checkpoint.json'))],
  ])('is not used if %s', async (_what, spoil) => {
    const checkpoints = await fresh()
    await hibernate(checkpoints, [], 0, 'a')
    await wake(checkpoints)
    await chmod(join(base, 'checkpoint.json'), 0o600)
    await spoil()
    await expect(offer(checkpoints)).rejects.toThrow(/changed on disk|ENOENT|no complete checkpoint/)
  })
})
