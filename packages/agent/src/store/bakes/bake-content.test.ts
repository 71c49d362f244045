import { createHash } from 'node:crypto'
import { mkdir, mkdtemp, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { BakeContents } from './bake-content.ts'

let bakes: string
let reads: string[]

beforeEach(async () => {
  bakes = await mkdtemp(join(tmpdir(), 'offshoot-bakes-'))
  reads = []
  for (const bake of ['one/a', 'one/b', 'two/a']) await make(bake)
})
afterEach(() => rm(bakes, { recursive: true, force: true }))

async function make(bake: string, memory = 'memory'): Promise<void> {
  const folder = join(bakes, bake)
  await mkdir(folder, { recursive: true })
  for (const name of ['state', 'rootfs.ext4', 'disk.qcow2', 'overlay.qcow2', 'bake.json'])
    await writeFile(join(folder, name), name === 'overlay.qcow2' ? bake : name)
  await writeFile(join(folder, 'memory'), memory)
}

function contents(): BakeContents {
  return new BakeContents(bakes, async (path) => {
    reads.push(path)
    const content = await readFile(path)
    return { bytes: (await stat(path)).size, sha256: createHash('sha256').update(content).digest('hex') }
  })
}

describe('the content of a bake', () => {
  it('does not depend on its place, and is read once', async () => {
    const known = contents()
    const [first, same] = await Promise.all([known.describe('one/a'), known.describe('one/a')])
    expect(reads).toHaveLength(5)
    expect([same, await known.describe('one/a'), await contents().describe('one/a')]).toEqual([first, first, first])
    expect(reads).toHaveLength(5)
    expect((await known.describe('two/a')).hash).toBe(first.hash)
    await make('one/b', 'another')
    expect((await known.describe('one/b')).hash).not.toBe(first.hash)
  })

  it('finds the bake while it is complete', async () => {
    const known = contents()
    expect(await known.hashes()).toEqual([])
    const { hash } = await known.describe('two/a')
    expect([await known.find(hash), await known.hashes()]).toEqual(['two/a', [hash]])
    await rename(join(bakes, 'two/a/bake.json'), join(bakes, 'bake.json'))
    expect([await known.find(hash), await known.hashes()]).toEqual([null, []])
  })
})
