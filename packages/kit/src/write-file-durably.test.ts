import { mkdtemp, readFile, readdir, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { writeFileDurably } from './write-file-durably.ts'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'offshoot-'))
})
afterEach(async () => {
  await rm(folder, { recursive: true })
})

it('replaces the content whole, with the mode asked for, and leaves nothing beside it', async () => {
  const path = join(folder, 'file')
  await writeFileDurably(path, 'old, and longer')
  await writeFileDurably(path, 'new', 0o644)
  expect(await readFile(path, 'utf8')).toBe('new')
  expect((await stat(path)).mode & 0o777).toBe(0o644)
  expect(await readdir(folder)).toEqual(['file'])
})

it('leaves the old state when it cannot finish', async () => {
  await expect(writeFileDurably(join(folder, 'missing', 'file'), 'x')).rejects.toThrow('ENOENT')
  expect(await readdir(folder)).toEqual([])
})
