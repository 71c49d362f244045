import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { type Checksums, type Entry, textEntry, writeArchive } from './archive.ts'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'offshoot-archive-'))
})
afterEach(() => rm(folder, { recursive: true }))

/** Unpacks the archive of these entries into the folder with tar. */
async function unpacked(entries: readonly Entry[]): Promise<Checksums> {
  async function* all(): AsyncGenerator<Entry> {
    yield* entries
  }
  const checksums: Checksums = {}
  const tar = execFile('tar', ['-x', '--preserve-permissions', '-C', folder])
  tar.stdin?.end(await buffer(writeArchive(all(), checksums)))
  await once(tar, 'exit')
  expect(tar.exitCode).toBe(0)
  return checksums
}

it('is unpacked by tar, with modes, and with names of any length', async () => {
  const lengths = [1, 90, 99, 100, 101, 200, 240]
  const names = lengths.map((length) => `folder/${'ä'.repeat(length >> 1)}${'x'.repeat(length % 2)}`)
  const files = names.map((name) => textEntry(name, `content of ${name}`))
  await unpacked([{ kind: 'folder', path: 'folder', mode: 0o710 }, ...files])
  const found = await Promise.all(names.map((name) => readFile(join(folder, name), 'utf8')))
  expect(found).toEqual(names.map((name) => `content of ${name}`))
  expect((await stat(join(folder, 'folder'))).mode & 0o777).toBe(0o710)
})

it('has as many bytes of a file as its header says, when the file changes meanwhile', async () => {
  const chunk = Buffer.from('abc')
  const entry = { kind: 'file', mode: 0o600 } as const
  const checksums = await unpacked([
    { ...entry, path: 'grew', bytes: 4, content: [chunk, chunk, chunk] },
    { ...entry, path: 'shrank', bytes: 1000, content: [chunk] },
    { ...entry, path: 'empty', bytes: 0, content: [chunk] },
  ])
  expect(await readFile(join(folder, 'grew'), 'utf8')).toBe('abca')
  expect(await readFile(join(folder, 'shrank'), 'utf8')).toBe(`abc${'\0'.repeat(997)}`)
  expect(await readFile(join(folder, 'empty'), 'utf8')).toBe('')
  expect(checksums['shrank']?.bytes).toBe(1000)
})
