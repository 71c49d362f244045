import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { newLayerId } from '../../store/disks/layer-id.ts'
import { isEmptyLayer, neededLayers } from './needed-layers.ts'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'offshoot-needed-layers-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

async function isEmpty(content: string): Promise<boolean> {
  const [path, empty] = [join(folder, 'layer'), join(folder, 'empty')]
  await writeFile(path, content)
  await writeFile(empty, 'header')
  return isEmptyLayer(path, empty)
}

describe('layers that another VM needs', () => {
  it('are those of the disk that are not known to be empty, in their order', () => {
    const [first, empty, last] = [newLayerId(), newLayerId(), newLayerId()]
    const disk = { active: newLayerId(), layers: [first, empty, last] }
    expect(neededLayers({ disk, emptyLayers: new Set([empty]) })).toEqual([first, last])
    expect(neededLayers({ disk, emptyLayers: new Set() })).toEqual(disk.layers)
    expect(neededLayers({ disk: null, emptyLayers: new Set([empty]) })).toEqual([])
  })

  it('are empty if nothing was written to them', async () => {
    expect(await isEmpty('header')).toBe(true)
    expect(await isEmpty('headex')).toBe(false)
    expect(await isEmpty('header and data')).toBe(false)
    expect(await isEmpty('')).toBe(false)
  })

  it('are not taken for empty if a file is missing', async () => {
    for (const name of ['missing', 'empty']) await rm(join(folder, name), { force: true })
    expect(await isEmptyLayer(join(folder, 'missing'), join(folder, 'empty'))).toBe(false)
  })
})
