import { link, mkdir, mkdtemp, readdir, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { fileOfLayer, newLayerId } from './layer-id.ts'
import { LayerMissing, Layers } from './layers.ts'

let root: string
let vm: string
let layers: Layers
const [active, upper, lower] = [newLayerId(), newLayerId(), newLayerId()]

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'offshoot-layers-'))
  vm = join(root, 'vm')
  for (const name of ['vm', 'layers']) await mkdir(join(root, name))
  layers = new Layers(join(root, 'layers'))
})
afterEach(() => rm(root, { recursive: true, force: true }))

describe('adoption', () => {
  it('takes the frozen layers of a chain out of the folder, and no other file, however often', async () => {
    for (const id of [active, upper, lower]) await writeFile(join(vm, fileOfLayer(id)), id)
    for (let i = 0; i < 2; i++) await layers.adopt(vm, { active, layers: [lower, upper] })
    expect(await readdir(vm)).toEqual([fileOfLayer(active)])
    const { mode, uid } = await stat(layers.path(upper))
    expect([mode & 0o777, uid]).toEqual([0o400, process.getuid?.()])
  })

  it.each([
    ['a link', (path: string) => symlink('/etc/hostname', path)],
    ['a second name of another file', (path: string) => link(join(root, 'secret'), path)],
    ['a folder', (path: string) => mkdir(path)],
    ['nothing', () => Promise.resolve()],
  ])('refuses %s in the place of a layer', async (_what, put) => {
    await writeFile(join(root, 'secret'), 'secret', { mode: 0o644 })
    await put(join(vm, fileOfLayer(lower)))
    await expect(layers.adopt(vm, { active, layers: [lower] })).rejects.toThrow(LayerMissing)
    expect(await readdir(join(root, 'layers'))).toEqual([])
    expect((await stat(join(root, 'secret'))).mode & 0o777).toBe(0o644)
  })
})

describe('the sweep', () => {
  it('leaves what is kept and what comes while it asks, and removes the rest', async () => {
    for (const id of [upper, lower]) await writeFile(layers.path(id), id)
    const late = newLayerId()
    await writeFile(join(vm, fileOfLayer(late)), late)
    await writeFile(join(root, 'layers', 'debris'), '')
    await layers.adopt(vm, { active, layers: [] })
    expect(await layers.removeAllBut(() => [upper])).toBe(2)
    await layers.adopt(vm, { active, layers: [late] })
    expect((await readdir(join(root, 'layers'))).toSorted()).toEqual([fileOfLayer(upper), fileOfLayer(late)].toSorted())
  })
})
