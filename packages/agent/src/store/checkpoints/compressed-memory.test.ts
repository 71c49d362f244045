import { createHash, randomBytes } from 'node:crypto'
import { link, mkdtemp, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { CheckpointDamaged } from './checkpoint-errors.ts'
import {
  compressBeside,
  CompressionCancelled,
  removeCopies,
  replaceByCompressed,
  restorePages,
  type SealedPages,
} from './compressed-memory.ts'

const BYTES = 1024 * 1024
/** Content like that of a guest's memory: one part that cannot be compressed, and much that can. */
const content = Buffer.concat([randomBytes(BYTES / 4), Buffer.alloc((BYTES / 4) * 3, 'memory')])
const always = () => true

let folder: string
let pages: SealedPages
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'offshoot-compressed-'))
  pages = await sealed('pages', content)
})
afterEach(() => rm(folder, { recursive: true, force: true }))

async function sealed(name: string, bytes: Buffer): Promise<SealedPages> {
  const path = join(folder, name)
  await writeFile(path, bytes, { mode: 0o400 })
  return { path, seal: { bytes: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') } }
}

const names = async () => (await readdir(folder)).toSorted()
const replace = (files: readonly SealedPages[]) => replaceByCompressed(folder, files, (path) => rm(path))

describe('memory of a checkpoint', () => {
  it('is unchanged after compression and decompression', async () => {
    const files = await compressBeside([pages], always)
    expect(files).toEqual([pages])
    await replace(files)
    expect(await names()).toEqual(['pages.zst'])
    expect((await stat(`${pages.path}.zst`)).size).toBeLessThan(BYTES / 2)
    await restorePages(pages.path)
    expect((await readFile(pages.path)).equals(content)).toBe(true)
    expect((await stat(pages.path)).mode & 0o777).toBe(0o400)
    await removeCopies(folder)
    expect(await names()).toEqual(['pages'])
  })

  it('stays uncompressed if compression gains nothing, or another checkpoint shares it', async () => {
    const random = await sealed('base-0.pages', randomBytes(BYTES))
    await link(pages.path, join(folder, 'of-another'))
    expect(await compressBeside([random, pages], always)).toEqual([])
    expect(await names()).toEqual(['base-0.pages', 'of-another', 'pages'])
  })

  it('stays uncompressed if it differs from its seal', async () => {
    const other = { ...pages, seal: { ...pages.seal, sha256: 'another' } }
    expect(await compressBeside([other], always)).toEqual([])
    expect(await names()).toEqual(['pages'])
  })

  it.each([1, 2, 20, 30])('leaves no copy when the compression is cancelled at chunk %i', async (last) => {
    let chunks = 0
    const shouldContinue = () => ++chunks < last
    await expect(compressBeside([pages], shouldContinue)).rejects.toThrow(CompressionCancelled)
    expect(await names()).toEqual(['pages'])
  })

  it('can be restored after a kill at any step', async () => {
    const [file] = await compressBeside([pages], always)
    if (file === undefined) throw new Error('nothing was compressed')
    // Before the rename of the copy: nothing reads it, and the next compression writes it again.
    await restorePages(pages.path)
    expect(await names()).toEqual(['pages', 'pages.zst.new'])
    await replaceByCompressed(folder, await compressBeside([pages], always), async () => undefined)
    // Before the removal of the original.
    await restorePages(pages.path)
    expect((await readFile(pages.path)).equals(content)).toBe(true)
    // During decompression.
    await rm(pages.path)
    await writeFile(`${pages.path}.new`, 'half')
    await restorePages(pages.path)
    expect((await readFile(pages.path)).equals(content)).toBe(true)
  })

  it('is not restored from a damaged copy, which is kept', async () => {
    await replace(await compressBeside([pages], always))
    await truncate(`${pages.path}.zst`, 1000)
    await expect(restorePages(pages.path)).rejects.toThrow(CheckpointDamaged)
    expect(await names()).toEqual(['pages.zst'])
  })

  it('is reported by its checkpoint if both files are missing', async () => {
    await rm(pages.path)
    await restorePages(pages.path)
    expect(await names()).toEqual([])
  })
})
