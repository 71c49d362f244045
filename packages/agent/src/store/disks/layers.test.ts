import { link, mkdir, mkdtemp, readdir, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { fileOfLayer, newLayerId, type LayerId } from './layer-id.ts'
import { LayerMissing, Layers } from './layers.ts'

let root: string
let vm: string
let layers: Layers
let errors: unknown[]
const [active, upper, lower] = [newLayerId(), newLayerId(), newLayerId()]

const openLayers = () =>
  new Layers(
    { layers: join(root, 'layers'), retiredLayers: join(root, 'retired') },
    { error: (what: unknown) => errors.push(what) },
  )

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'offshoot-layers-'))
  vm = join(root, 'vm')
  for (const name of ['vm', 'layers', 'retired']) await mkdir(join(root, name))
  errors = []
  layers = openLayers()
})
afterEach(() => rm(root, { recursive: true, force: true }))

describe('adoption', () => {
  it('moves only the frozen layers of a chain out of the folder, and is idempotent', async () => {
    for (const id of [active, upper, lower]) await writeFile(join(vm, fileOfLayer(id)), id)
    for (let i = 0; i < 2; i++) await layers.adopt(vm, { active, layers: [lower, upper] })
    expect(await readdir(vm)).toEqual([fileOfLayer(active)])
    const { mode, uid } = await stat(layers.path(upper))
    expect([mode & 0o777, uid]).toEqual([0o400, process.getuid?.()])
  })

  it.each([
    ['a symbolic link', (path: string) => symlink('/etc/hostname', path)],
    ['a hard link', (path: string) => link(join(root, 'secret'), path)],
    ['a folder', (path: string) => mkdir(path)],
    ['nothing', () => Promise.resolve()],
  ])('refuses %s instead of a layer', async (_what, put) => {
    await writeFile(join(root, 'secret'), 'secret', { mode: 0o644 })
    await put(join(vm, fileOfLayer(lower)))
    await expect(layers.adopt(vm, { active, layers: [lower] })).rejects.toThrow(LayerMissing)
    expect(await readdir(join(root, 'layers'))).toEqual([])
    expect((await stat(join(root, 'secret'))).mode & 0o777).toBe(0o644)
  })
})

const retired = () => readdir(join(root, 'retired'))
/** Sweeps twice. Between the sweeps passes the time for which a retired layer is kept. */
const sweepTwice = async (needed: () => LayerId[]) => {
  vi.useFakeTimers({ toFake: ['Date'] })
  await layers.sweep(needed)
  vi.setSystemTime(Date.now() + 60_000)
  await layers.sweep(needed)
  vi.useRealTimers()
}

describe('the sweep', () => {
  it('keeps needed layers and those that are adopted meanwhile, and retires the rest', async () => {
    for (const id of [upper, lower]) await writeFile(layers.path(id), id)
    const late = newLayerId()
    await writeFile(join(vm, fileOfLayer(late)), late)
    expect(await layers.sweep(() => [upper])).toEqual([])
    await layers.adopt(vm, { active, layers: [late] })
    expect((await readdir(join(root, 'layers'))).toSorted()).toEqual([fileOfLayer(upper), fileOfLayer(late)].toSorted())
    expect(await retired()).toEqual([fileOfLayer(lower)])
  })

  it('may run twice at the same time, as after two deletions', async () => {
    for (const id of [upper, lower]) await writeFile(layers.path(id), id)
    const sweeps = await Promise.allSettled([layers.sweep(() => []), layers.sweep(() => [])])
    expect(sweeps.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled'])
    expect(await readdir(join(root, 'layers'))).toEqual([])
    expect(await retired()).toHaveLength(2)
  })

  it('deletes a layer that is still not needed at a later sweep', async () => {
    for (const id of [upper, lower]) await writeFile(layers.path(id), id)
    await sweepTwice(() => [upper])
    expect(await retired()).toEqual([])
    expect(await readdir(join(root, 'layers'))).toEqual([fileOfLayer(upper)])
  })

  it('does not delete a layer that an earlier agent retired at the first sweep', async () => {
    await writeFile(join(root, 'retired', fileOfLayer(lower)), lower)
    await layers.sweep(() => [])
    expect(await retired()).toEqual([fileOfLayer(lower)])
  })

  it('restores a retired layer that is needed again, at the next sweep or at an adoption, and logs it', async () => {
    for (const id of [upper, lower]) await writeFile(layers.path(id), id)
    await layers.sweep(() => [])
    expect(await readdir(join(root, 'layers'))).toEqual([])
    await layers.adopt(vm, { active, layers: [lower] })
    await layers.sweep(() => [lower, upper])
    expect((await readdir(join(root, 'layers'))).toSorted()).toEqual([lower, upper].map(fileOfLayer).toSorted())
    expect(errors).toEqual([{ layer: lower }, { layer: upper }])
  })

  it('returns the names of files that are no layers, and continues', async () => {
    await mkdir(join(root, 'layers', 'debris'))
    await mkdir(layers.path(lower))
    await writeFile(layers.path(upper), upper)
    await sweepTwice(() => [upper])
    expect(await layers.sweep(() => [upper])).toEqual(['debris'])
    expect(await retired()).toEqual([])
  })
})
