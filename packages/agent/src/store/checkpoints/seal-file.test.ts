import { createHash } from 'node:crypto'
import { mkdtemp, open, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { sealFile } from './seal-file.ts'

const MIB = 1024 * 1024
let folder: string
let path: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'offshoot-seal-'))
  path = join(folder, 'file')
})
afterEach(() => rm(folder, { recursive: true, force: true }))

/** The seal of a sparse file with this data at these places. */
async function sealOf(bytes: number, parts: readonly (readonly [at: number, data: string])[]) {
  const file = await open(path, 'w')
  for (const [at, data] of parts) await file.write(Buffer.from(data), 0, data.length, at)
  await file.truncate(bytes)
  await file.close()
  return sealFile({ path, isSparse: true })
}

describe('the seal of a file', () => {
  it('has the hash of its content', async () => {
    const content = Buffer.alloc(2 * MIB + 5, 'content')
    await writeFile(path, content)
    const sha256 = createHash('sha256').update(content).digest('hex')
    expect(sealFile({ path })).toEqual({ bytes: content.length, sha256 })
  })

  it('without zeros differs with the content, its place and the size', async () => {
    const seal = await sealOf(3 * MIB, [[MIB, 'data']])
    expect(await sealOf(3 * MIB, [[MIB, 'data']])).toEqual(seal)
    await writeFile(path, Buffer.concat([Buffer.alloc(MIB), Buffer.from('data'), Buffer.alloc(2 * MIB - 4)]))
    expect(sealFile({ path, isSparse: true })).toEqual(seal)
    const others = [
      await sealOf(3 * MIB, [[MIB, 'dat4']]),
      await sealOf(3 * MIB, [[MIB + 1, 'data']]),
      await sealOf(3 * MIB, [[MIB + 4096, 'data']]),
      await sealOf(3 * MIB, [
        [MIB, 'data'],
        [3 * MIB - 1, 'x'],
      ]),
      await sealOf(3 * MIB, []),
      await sealOf(3 * MIB + 1, [[MIB, 'data']]),
    ]
    expect(new Set(others.map(({ bytes, sha256 }) => `${bytes} ${sha256}`)).size).toBe(others.length)
    expect(others).not.toContainEqual(seal)
  })
})
