import { mkdtemp, open, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { sealFile } from '../../store/checkpoints/seal-file.ts'
import { windowsOf } from '../../store/data-dir/file-windows.ts'
import { dataRanges } from './data-ranges.ts'

const MIB = 1024 ** 2

let folder: string
let path: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'offshoot-ranges-'))
  path = join(folder, 'disk')
})
afterEach(() => rm(folder, { recursive: true }))

/** A sparse file of 300 MiB and a few bytes, with this data at these places. */
async function writeSparsely(parts: readonly (readonly [at: number, data: string])[]): Promise<number> {
  const file = await open(path, 'w')
  await file.truncate(300 * MIB + 5)
  for (const [at, data] of parts) await file.write(data, at)
  await file.close()
  return 300 * MIB + 5
}

describe('the data of a large sparse file', () => {
  it('is found without reading the holes, and gives the same seal', async () => {
    const places = [0, 7 * MIB - 2, 100 * MIB + 4096, 300 * MIB + 1]
    const bytes = await writeSparsely(places.map((at) => [at, 'data']))
    const ranges = await dataRanges(path)
    const read = [...windowsOf(bytes, ranges)].filter(({ hasData }) => hasData).map(({ at }) => at / MIB)
    expect(read).toEqual([0, 6, 7, 100, 300])
    const asked = { path, isSparse: true }
    expect(sealFile({ ...asked, ranges })).toEqual(sealFile(asked))
  })

  it('is nothing in an empty one, and is not looked for in a small one', async () => {
    await writeSparsely([])
    expect(await dataRanges(path)).toEqual([])
    await writeFile(path, 'small')
    expect(await dataRanges(path)).toBeNull()
    expect([...windowsOf(5, null)]).toEqual([{ at: 0, length: 5, hasData: true }])
  })
})
