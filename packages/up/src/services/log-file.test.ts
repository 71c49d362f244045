import { mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { boundLog, openLog } from './log-file.ts'

it('empties a log for which there is no room twice', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'offshoot-log-'))
  const path = join(folder, 'x.log')
  await writeFile(path, 'a line\n')
  await symlink('/dev/full', `${path}.1`)
  await boundLog(path, 5)
  expect(await readdir(folder)).toEqual(['x.log'])
  expect(await readFile(path, 'utf8')).toBe('')
  await rm(folder, { recursive: true })
})

it('empties a log that is too long in place, keeps the old part, and its writer goes on', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'offshoot-log-'))
  const path = join(folder, 'x.log')
  const writer = await openLog(path)
  await writer.write('a line\n')
  await boundLog(path, 100)
  expect(await readFile(path, 'utf8')).toBe('a line\n')
  await boundLog(path, 5)
  await writer.write('next\n')
  expect(await readFile(path, 'utf8')).toBe('next\n')
  expect(await readFile(`${path}.1`, 'utf8')).toBe('a line\n')
  await writer.close()
  await boundLog(join(folder, 'none.log'), 5)
  await rm(folder, { recursive: true })
})
