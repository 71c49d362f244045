import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { writeChain } from '../disks/chain-file.ts'
import { newLayerId } from '../disks/layer-id.ts'
import { namedLayers } from './named-layers.ts'

let folder: string
const [low, high, active] = [newLayerId(), newLayerId(), newLayerId()]
const checkpoint = JSON.stringify({ checkpoint: { layers: [{ id: low }, { id: high }] }, hmac: 'any' })

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'named-layers-'))
})
afterEach(() => rm(folder, { recursive: true }))

describe('the layers that an object without a record needs', () => {
  it('are none if it has neither disk nor memory', async () => {
    expect(await namedLayers(folder)).toEqual([])
    expect(await namedLayers(join(folder, 'gone'))).toEqual([])
  })

  it('are those of its disk, and those of its checkpoint', async () => {
    await mkdir(join(folder, 'vm'))
    await writeChain(folder, { active, layers: [low] }, false)
    expect(await namedLayers(folder)).toEqual([low, active])
    await mkdir(join(folder, 'hibernation'))
    await writeFile(join(folder, 'hibernation', 'checkpoint.json'), checkpoint)
    expect(await namedLayers(folder)).toEqual([low, active, low, high])
  })

  it('are those of a snapshot', async () => {
    for (const name of ['pages', 'runs', 'state']) await writeFile(join(folder, name), '')
    await writeFile(join(folder, 'checkpoint.json'), checkpoint)
    expect(await namedLayers(folder)).toEqual([low, high])
  })

  it.each([
    [
      'the record of a disk is missing',
      async () => {
        await mkdir(join(folder, 'vm'))
      },
    ],
    ['the record of a disk is damaged', () => writeFile(join(folder, 'chain.json'), '')],
    ['a memory has no checkpoint', () => writeFile(join(folder, 'pages'), '')],
    [
      'a checkpoint is damaged',
      async () => {
        await mkdir(join(folder, 'hibernation'))
        await writeFile(join(folder, 'hibernation', 'checkpoint.json'), '{')
      },
    ],
  ])('are unknown if %s', async (_what, damage) => {
    await damage()
    expect(await namedLayers(folder)).toBeNull()
  })
})
