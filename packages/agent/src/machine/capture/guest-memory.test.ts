import { readFile, stat, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { type Mapper, Mappers, PAGES, run, WRONG_RUNS } from '../../test/memory-mappers.ts'
import { encodeRuns, MAX_RUNS, PAGE_BYTES } from './page-runs.ts'

let mappers: Mappers
beforeAll(async () => {
  mappers = await Mappers.open()
})
afterEach(() => mappers.end())
afterAll(() => mappers.close())

const read = (mapper: Mapper) => Promise.all([9, 10, 13, 14, 999, 1000, 1023].map((page) => mapper.ask(`r ${page}`)))

describe('memory saved and restored', () => {
  it('is that of the capture, over generations, and only changed pages are written', async () => {
    const first = await (await mappers.start()).ready()
    await first.ask('w 10 4 1 1')
    await first.ask('w 1000 24 1 2')
    const saved = mappers.save(first)
    expect(saved.counted).toEqual({ pages: 28, runs: 2, bases: 0 })
    expect((await stat(saved.files.pages)).size).toBe(28 * PAGE_BYTES)
    await first.ask('w 10 1 1 9')

    const second = await (await mappers.start(saved.files)).ready()
    expect(await read(second)).toEqual([7, 1, 1, 7, 7, 2, 2])
    await second.ask('w 14 1 1 3')
    await second.ask('w 1023 1 1 4')

    const third = await (await mappers.start(mappers.save(second).files)).ready()
    expect(await read(third)).toEqual([7, 1, 1, 3, 7, 2, 4])
    expect(await read(second)).toEqual([7, 1, 1, 3, 7, 2, 4])
    expect((await readFile(join(mappers.folder, 'memory'))).every((byte) => byte === 7)).toBe(true)
  })

  it('is complete with the first byte of the state, if QEMU was started before it was written', async () => {
    const first = await (await mappers.start()).ready()
    const files = mappers.newFiles()
    for (const path of Object.values(files)) await writeFile(path, '')
    const ahead = await (await mappers.start(files, { isAhead: true })).ready()
    await first.ask('w 10 4 1 1')
    mappers.save(first, files)
    expect([await ahead.ask('r 9'), await ahead.ask('r 10')]).toEqual([7, 7])
    ahead.sendState('xy')
    expect(await ahead.ask('s')).toBe(1)
    expect([await ahead.ask('r 9'), await ahead.ask('r 10')]).toEqual([7, 1])
    await ahead.ask('w 10 1 1 9')
    expect(await ahead.ask('s')).toBe(1)
    expect([await ahead.ask('r 10'), await ahead.ask('r 11')]).toEqual([9, 1])
  })

  it('is refused if the state arrives before it is complete', async () => {
    const files = mappers.newFiles()
    for (const path of Object.values(files)) await writeFile(path, '')
    const ahead = await (await mappers.start(files, { isAhead: true })).ready()
    ahead.sendState('x')
    await ahead.ask('s')
    expect(await ahead.ended()).toMatchObject({ signal: 'SIGABRT', errors: expect.stringContaining('runs') })
  })

  it('is correct if all pages were written, and if none were', async () => {
    const none = await (await mappers.start()).ready()
    const empty = mappers.save(none)
    expect(empty.counted).toEqual({ pages: 0, runs: 0, bases: 0 })
    const first = await (await mappers.start(empty.files)).ready()
    await first.ask(`w 0 ${PAGES} 1 5`)
    const whole = mappers.save(first)
    expect(whole.counted).toEqual({ pages: PAGES, runs: 1, bases: 0 })
    const second = await (await mappers.start(whole.files)).ready()
    await second.ask('w 3 1 1 6')
    const again = mappers.save(second)
    expect(again.counted).toEqual({ pages: PAGES, runs: 1, bases: 0 })
    const third = await (await mappers.start(again.files)).ready()
    expect([await third.ask('r 0'), await third.ask('r 3'), await third.ask(`r ${PAGES - 1}`)]).toEqual([5, 6, 5])
  })

  it('maps a page from its file again after the guest has freed it', async () => {
    const first = await (await mappers.start()).ready()
    await first.ask('w 100 50 1 1')
    const second = await (await mappers.start(mappers.save(first).files)).ready()
    await second.ask('w 90 100 1 2')
    expect(await second.ask('d 90 100')).toBe(0)
    expect([await second.ask('r 95'), await second.ask('r 120')]).toEqual([7, 1])
  })
})

describe('memory saved over that of an earlier checkpoint', () => {
  it('contains the changed pages, over generations', async () => {
    const first = await (await mappers.start()).ready()
    await first.ask('w 0 100 1 1')
    const one = mappers.saveOver(first, [])
    const second = await (await mappers.start(one.layers)).ready()
    await second.ask('w 10 4 1 2')
    await second.ask('w 1000 4 1 2')
    const two = mappers.saveOver(second, one.layers)
    expect(two.counted).toEqual({ pages: 8, runs: 2, bases: 1 })

    const third = await (await mappers.start(two.layers)).ready()
    expect(await read(third)).toEqual([1, 2, 2, 1, 7, 2, 7])
    const unchanged = mappers.saveOver(third, two.layers)
    expect(unchanged.counted).toEqual({ pages: 0, runs: 0, bases: 2 })
    await third.ask('w 12 1 1 3')
    const three = mappers.saveOver(third, two.layers)
    expect(three.counted).toEqual({ pages: 1, runs: 1, bases: 2 })
    const fourth = await (await mappers.start(three.layers)).ready()
    expect([await fourth.ask('r 11'), await fourth.ask('r 12'), await fourth.ask('r 13')]).toEqual([2, 3, 2])
    // A fork or a snapshot of it is saved without bases.
    const whole = mappers.save(fourth)
    expect(whole.counted).toEqual({ pages: 104, runs: 2, bases: 0 })
    const fifth = await (await mappers.start(whole.files)).ready()
    expect(await read(fifth)).toEqual([1, 2, 2, 1, 7, 2, 7])
  })

  it('contains the pages of small bases, so that there are never many bases', async () => {
    let mapper = await (await mappers.start()).ready()
    await mapper.ask('w 0 200 1 1')
    let { layers } = mappers.saveOver(mapper, [])
    for (let round = 0; round < 12; round++) {
      mapper = await (await mappers.start(layers)).ready()
      await mapper.ask(`w ${round * 10} 3 1 ${20 + round}`)
      layers = mappers.saveOver(mapper, layers).layers
      expect(layers.length).toBeLessThanOrEqual(5)
    }
    const last = await (await mappers.start(layers)).ready()
    const pages = [0, 2, 3, 50, 53, 110, 112, 113, 199, 200]
    expect(await Promise.all(pages.map((page) => last.ask(`r ${page}`)))).toEqual([20, 20, 1, 25, 1, 31, 31, 1, 1, 7])
  })

  it('is complete if most pages have changed, and if a base is not one of its restore', async () => {
    const first = await (await mappers.start()).ready()
    await first.ask('w 0 100 1 1')
    const one = mappers.saveOver(first, [])
    const second = await (await mappers.start(one.layers)).ready()
    await second.ask('w 0 100 1 2')
    expect(mappers.saveOver(second, one.layers).counted).toEqual({ pages: 100, runs: 1, bases: 0 })

    await first.ask('w 0 600 1 3')
    const other = mappers.saveOver(first, [])
    const third = await (await mappers.start(one.layers)).ready()
    await third.ask('w 700 1 1 4')
    const saved = mappers.saveOver(third, other.layers)
    const fourth = await (await mappers.start(saved.layers)).ready()
    const pages = [0, 99, 100, 599, 600, 700]
    expect(await Promise.all(pages.map((page) => fourth.ask(`r ${page}`)))).toEqual([1, 1, 7, 7, 7, 4])
  })

  it('maps a page from the newest file again after the guest has freed it', async () => {
    const first = await (await mappers.start()).ready()
    await first.ask('w 100 50 1 1')
    const one = mappers.saveOver(first, [])
    const second = await (await mappers.start(one.layers)).ready()
    await second.ask('w 120 10 1 2')
    const third = await (await mappers.start(mappers.saveOver(second, one.layers).layers)).ready()
    await third.ask('w 90 100 1 3')
    expect(await third.ask('d 90 100')).toBe(0)
    expect([await third.ask('r 95'), await third.ask('r 110'), await third.ask('r 125')]).toEqual([7, 1, 2])
  })
})

describe('an invalid list of runs', () => {
  it.each(WRONG_RUNS)('ends QEMU with a message: %s', async (_name, runs, pages) => {
    const files = { pages: join(mappers.folder, 'bad.pages'), runs: join(mappers.folder, 'bad.runs') }
    await writeFile(files.pages, Buffer.alloc(pages * PAGE_BYTES))
    await writeFile(files.runs, runs)
    const mapper = await mappers.start(files)
    expect(await mapper.line()).toBeUndefined()
    const { signal, errors } = await mapper.ended()
    expect(signal).toBe('SIGABRT')
    expect(errors).toMatch(/^guest memory: /)
  })

  it('ends QEMU if the layers together have more runs than a process can map', async () => {
    const most = Array.from({ length: MAX_RUNS }, (_, index) => run(index * 2, 1))
    const bytes = (MAX_RUNS + 1) * 2 * PAGE_BYTES
    const [lower, upper] = [mappers.newFiles(), mappers.newFiles()]
    for (const [files, runs] of [
      [lower, most],
      [upper, [run(1, 1)]],
    ] as const) {
      await writeFile(files.pages, '')
      await truncate(files.pages, runs.length * PAGE_BYTES)
      await writeFile(files.runs, encodeRuns(runs))
    }
    expect(await (await mappers.start([lower], { bytes })).line()).toBe('ready')
    const mapper = await mappers.start([lower, upper], { bytes })
    expect(await mapper.ended()).toMatchObject({ signal: 'SIGABRT', errors: expect.stringContaining('too many runs') })
  })
})
