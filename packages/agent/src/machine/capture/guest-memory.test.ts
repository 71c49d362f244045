import { readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { type Mapper, Mappers, PAGES } from '../../test/memory-mappers.ts'
import { encodeRuns, PAGE_BYTES, type PageRun } from './page-runs.ts'

let mappers: Mappers
beforeAll(async () => {
  mappers = await Mappers.open()
})
afterEach(() => mappers.end())
afterAll(() => mappers.close())

const read = (mapper: Mapper) => Promise.all([9, 10, 13, 14, 999, 1000, 1023].map((page) => mapper.ask(`r ${page}`)))

describe('memory saved and restored', () => {
  it('is that of the moment, over generations, and only what differs is written', async () => {
    const first = await (await mappers.start()).ready()
    await first.ask('w 10 4 1 1')
    await first.ask('w 1000 24 1 2')
    const saved = mappers.save(first)
    expect(saved.counted).toEqual({ pages: 28, runs: 2 })
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

  it('is there with the first of the state, where it was not yet written when QEMU began', async () => {
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

  it('is nobody’s when the state comes before it is whole', async () => {
    const files = mappers.newFiles()
    for (const path of Object.values(files)) await writeFile(path, '')
    const ahead = await (await mappers.start(files, { isAhead: true })).ready()
    ahead.sendState('x')
    await ahead.ask('s')
    expect(await ahead.ended()).toMatchObject({ signal: 'SIGABRT', errors: expect.stringContaining('runs') })
  })

  it('holds when all of it was written, and none', async () => {
    const none = await (await mappers.start()).ready()
    const empty = mappers.save(none)
    expect(empty.counted).toEqual({ pages: 0, runs: 0 })
    const first = await (await mappers.start(empty.files)).ready()
    await first.ask(`w 0 ${PAGES} 1 5`)
    const whole = mappers.save(first)
    expect(whole.counted).toEqual({ pages: PAGES, runs: 1 })
    const second = await (await mappers.start(whole.files)).ready()
    await second.ask('w 3 1 1 6')
    const again = mappers.save(second)
    expect(again.counted).toEqual({ pages: PAGES, runs: 1 })
    const third = await (await mappers.start(again.files)).ready()
    expect([await third.ask('r 0'), await third.ask('r 3'), await third.ask(`r ${PAGES - 1}`)]).toEqual([5, 6, 5])
  })

  it('gives a page that the guest has given up back to its files', async () => {
    const first = await (await mappers.start()).ready()
    await first.ask('w 100 50 1 1')
    const second = await (await mappers.start(mappers.save(first).files)).ready()
    await second.ask('w 90 100 1 2')
    expect(await second.ask('d 90 100')).toBe(0)
    expect([await second.ask('r 95'), await second.ask('r 120')]).toEqual([7, 1])
  })
})

const run = (firstPage: number, pages: number): PageRun => ({ firstPage, pages })

describe('a list of runs that cannot be right', () => {
  it.each([
    ['two runs of the same page', encodeRuns([run(1, 2), run(2, 1)]), 3],
    ['a run past the end', encodeRuns([run(PAGES - 1, 2)]), 2],
    ['an empty run', encodeRuns([run(1, 0)]), 0],
    ['more pages than there are', encodeRuns([run(1, 2)]), 1],
    ['fewer pages than there are', encodeRuns([run(1, 2)]), 3],
    ['a torn list', encodeRuns([run(1, 1)]).subarray(0, 20), 1],
    ['another file', Buffer.alloc(24, 1), 1],
  ])('ends QEMU, with a word: %s', async (_name, runs, pages) => {
    const files = { pages: join(mappers.folder, 'bad.pages'), runs: join(mappers.folder, 'bad.runs') }
    await writeFile(files.pages, Buffer.alloc(pages * PAGE_BYTES))
    await writeFile(files.runs, runs)
    const mapper = await mappers.start(files)
    expect(await mapper.line()).toBeUndefined()
    const { signal, errors } = await mapper.ended()
    expect(signal).toBe('SIGABRT')
    expect(errors).toMatch(/^guest memory: /)
  })
})
