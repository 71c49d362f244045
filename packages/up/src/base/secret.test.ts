import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { secret } from './secret.ts'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'offshoot-secret-'))
})
afterEach(() => rm(folder, { recursive: true }))

it('is created once, readable by its owner only', async () => {
  const first = await secret(folder, 'x')
  expect(first).toHaveLength(32)
  expect(await secret(folder, 'x')).toEqual(first)
  expect((await stat(join(folder, 'x'))).mode & 0o777).toBe(0o600)
})

it.each(['', 'half', `${Buffer.alloc(33).toString('base64')}\n`])(
  'is not replaced when its file holds %j',
  async (text) => {
    await writeFile(join(folder, 'x'), text)
    await expect(secret(folder, 'x')).rejects.toThrow('x is damaged. Restore it from a backup of the data directory.')
    expect(await readFile(join(folder, 'x'), 'utf8')).toBe(text)
  },
)

it('is not replaced when its file cannot be read', async () => {
  await mkdir(join(folder, 'x'))
  await expect(secret(folder, 'x')).rejects.toThrow('EISDIR')
})
