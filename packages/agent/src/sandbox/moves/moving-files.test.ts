import { createHash, randomBytes } from 'node:crypto'
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { compressBeside, replaceByCompressed } from '../../store/checkpoints/compressed-memory.ts'
import { contentOf, smallFiles } from './moving-files.ts'

let folder: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'offshoot-moving-'))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

describe('the files of a sandbox that moves', () => {
  it('are decompressed if its memory is compressed, and stay compressed on this host', async () => {
    const content = Buffer.concat([Buffer.alloc(3 * 1024 * 1024, 'page'), randomBytes(5000)])
    const path = join(folder, 'pages')
    await writeFile(path, content)
    const seal = { bytes: content.length, sha256: createHash('sha256').update(content).digest('hex') }
    const file = { name: 'memory/pages', ...seal, content: { path } }
    expect((await buffer(contentOf(file))).equals(content)).toBe(true)
    await replaceByCompressed(folder, await compressBeside([{ path, seal }], () => true), (done) => rm(done))
    expect(await readdir(folder)).toEqual(['pages.zst'])
    expect((await buffer(contentOf(file))).equals(content)).toBe(true)
    expect(await readdir(folder)).toEqual(['pages.zst'])
  })

  it('are those of its users, and not those of this host', async () => {
    for (const name of [
      'events.jsonl',
      'log.jsonl',
      'usage.json',
      'qemu.log',
      'chain.json',
      'manifest.json',
      'activity',
    ])
      await writeFile(join(folder, name), name)
    const files = await smallFiles(folder)
    expect(files.map(({ name }) => name)).toEqual(['events.jsonl', 'log.jsonl', 'usage.json'])
    expect(files[0]).toMatchObject({ bytes: 12, sha256: createHash('sha256').update('events.jsonl').digest('hex') })
  })
})
