import { mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { accountsSecrets } from './accounts-secret.ts'

it('is one secret for all who ask at once, and at every later start', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'offshoot-secret-'))
  try {
    const dataDir = join(folder, 'control')
    const secrets = await Promise.all([1, 2, 3, 4].map(() => accountsSecrets(dataDir)))
    expect(new Set(secrets.flat()).size).toBe(1)
    expect(Buffer.from(secrets[0]?.[0] ?? '', 'base64')).toHaveLength(32)
    expect(await accountsSecrets(dataDir)).toEqual(secrets[0])
    expect(await readdir(dataDir)).toEqual(['accounts-secret'])
    expect((await stat(join(dataDir, 'accounts-secret'))).mode & 0o777).toBe(0o600)
  } finally {
    await rm(folder, { recursive: true })
  }
})
