import { link, rm, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { MemoryFiles } from '../../store/checkpoints/checkpoint-files.ts'
import { type Mapper, Mappers, PAGES, WRONG_RUNS } from '../../test/memory-mappers.ts'
import { KEPT_FILES } from '../vm/machine.ts'
import { PAGE_BYTES } from './page-runs.ts'

let mappers: Mappers
beforeAll(async () => {
  mappers = await Mappers.open()
})
afterEach(() => mappers.end())
afterAll(() => mappers.close())

const started = async (layers: readonly MemoryFiles[] = []) => (await mappers.start(layers)).ready()
const read = (mapper: Mapper, pages: readonly number[]) => Promise.all(pages.map((page) => mapper.ask(`r ${page}`)))

/** @returns whether QEMU could keep them */
async function keep(mapper: Mapper, files: Partial<MemoryFiles>): Promise<boolean> {
  for (const name of ['pages', 'runs'] as const) {
    const path = join(mappers.folder, KEPT_FILES[name])
    await rm(path, { force: true })
    if (files[name] !== undefined) await link(files[name], path)
  }
  return (await mapper.ask('k')) === 1
}

/** A capture that QEMU keeps. */
async function capture(mapper: Mapper, bases: readonly MemoryFiles[]) {
  const captured = mappers.saveOver(mapper, bases)
  expect(await keep(mapper, captured.layers.at(-1) ?? {})).toBe(true)
  return captured
}

describe('memory that QEMU keeps after a capture', () => {
  it('is not written again by the next one, over generations', async () => {
    const mapper = await started()
    await mapper.ask('w 0 600 1 1')
    let { counted, layers } = await capture(mapper, [])
    expect(counted).toEqual({ pages: 600, runs: 1, bases: 0 })
    const pages = [0, 19, 20, 23, 24, 30, 40, 50, 60, 70, 599, 600]
    for (const round of [2, 3, 4, 5, 6, 7]) {
      await mapper.ask(`w ${round * 10} 4 1 ${round}`)
      ;({ counted, layers } = await capture(mapper, layers))
      expect(counted.pages).toBeLessThan(100)
      expect(await read(await started(layers), pages)).toEqual(await read(mapper, pages))
    }
    expect(await read(mapper, pages)).toEqual([1, 1, 2, 2, 1, 3, 4, 5, 6, 7, 1, 7])
  })

  it('is the kept one again after the guest has freed it', async () => {
    const mapper = await started()
    await mapper.ask('w 100 50 1 1')
    const { layers } = await capture(mapper, [])
    await mapper.ask('w 90 100 1 3')
    expect(await mapper.ask('d 90 100')).toBe(0)
    expect(await read(mapper, [95, 110, 160])).toEqual([7, 1, 7])
    expect(mappers.saveOver(mapper, layers).counted).toEqual({ pages: 0, runs: 0, bases: 1 })
  })

  it('is kept only where the files are equal to it', async () => {
    const mapper = await started()
    await mapper.ask('w 100 50 1 1')
    const { layers } = mappers.saveOver(mapper, [])
    await mapper.ask('w 100 5 1 2')
    await mapper.ask('w 120 1 1 3')
    await mapper.ask('w 149 1 1 4')
    expect(await keep(mapper, layers[0] ?? {})).toBe(true)
    const pages = [99, 100, 104, 105, 119, 120, 121, 148, 149, 150]
    expect(await read(mapper, pages)).toEqual([7, 2, 2, 1, 1, 3, 1, 1, 4, 7])
    const next = mappers.saveOver(mapper, layers)
    expect(next.counted).toEqual({ pages: 7, runs: 3, bases: 1 })
    expect(await read(await started(next.layers), pages)).toEqual([7, 2, 2, 1, 1, 3, 1, 1, 4, 7])
  })

  it.each(WRONG_RUNS)('stays what it is if the files are not those of a capture: %s', async (_name, runs, count) => {
    const mapper = await started()
    await mapper.ask('w 0 10 1 1')
    const { files, counted } = mappers.save(mapper)
    const bad = mappers.newFiles()
    await writeFile(bad.runs, runs)
    await writeFile(bad.pages, '')
    await truncate(bad.pages, count * PAGE_BYTES)
    for (const given of [bad, { pages: files.pages }, { runs: files.runs }, {}])
      expect(await keep(mapper, given)).toBe(false)
    expect(await read(mapper, [0, 1, 2, 9, 10, PAGES - 1])).toEqual([1, 1, 1, 1, 7, 7])
    expect(mappers.save(mapper).counted).toEqual(counted)
  })
})
