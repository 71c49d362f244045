import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { truncateOversized } from './console-file.ts'

let folder: string
let path: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'console-file-'))
  path = join(folder, 'qemu.log')
})
afterEach(() => rm(folder, { recursive: true, force: true }))

describe('truncateOversized', () => {
  it.each([
    ['keeps a file of the maximum size', 4, 'four'],
    ['truncates a longer file', 3, ''],
  ])('%s', async (_what, maxBytes, left) => {
    await writeFile(path, 'four')
    await truncateOversized(path, maxBytes)
    expect(await readFile(path, 'utf8')).toBe(left)
  })

  it('accepts a missing file', async () => {
    await expect(truncateOversized(path, 1)).resolves.toBeUndefined()
  })

  it('refuses a symbolic link and leaves its target alone', async () => {
    const target = join(folder, 'target')
    await writeFile(target, 'four')
    await symlink(target, path)
    await expect(truncateOversized(path, 1)).rejects.toMatchObject({ code: 'ELOOP' })
    expect(await readFile(target, 'utf8')).toBe('four')
  })
})
