import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { secret } from './secret.ts'

it('is made once, kept for its owner alone, and made again when it is damaged', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'offshoot-secret-'))
  const first = await secret(folder, 'x')
  expect(first).toHaveLength(32)
  expect(await secret(folder, 'x')).toEqual(first)
  expect((await stat(join(folder, 'x'))).mode & 0o777).toBe(0o600)
  await writeFile(join(folder, 'x'), 'half')
  expect(await secret(folder, 'x')).not.toEqual(first)
  await rm(folder, { recursive: true })
})
