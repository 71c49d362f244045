import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readSettings } from './settings.ts'

describe('settings', () => {
  let folder: string

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'offshoot-settings-'))
  })

  afterAll(async () => rm(folder, { recursive: true }))

  async function read(content: string) {
    const path = join(folder, 'settings.json')
    await writeFile(path, content)
    return readSettings(path)
  }

  it('are the defaults where there is no file, and what a file says beside them', async () => {
    const defaults = await readSettings(join(folder, 'none.json'))
    expect(defaults).toMatchObject({
      sign_up: 'open',
      require_verified_email: false,
      jwt_issuers: [],
    })
    expect(await read('{"sign_up":"closed"}')).toEqual({ ...defaults, sign_up: 'closed' })
  })

  it.each([
    ['{', /is not JSON/],
    ['[]', /is not right/],
    ['{"sign_up":"maybe"}', /sign_up/],
    ['{"signup":"open"}', /signup/],
    ['{"cors_origins":["https://example.com/"]}', /cors_origins.0: must be an origin/],
    ['{"cors_origins":["*"]}', /cors_origins.0: must be an origin/],
    ['{"jwt_issuers":[{"issuer":"i","audience":"a","jwks_url":"x"}]}', /jwks_url/],
    ['{"public_url":"https://example.com/"}', /public_url: must not end with a slash/],
    ['{"public_url":"ftp://example.com"}', /public_url/],
    ['{"jwt_issuers":[{"issuer":"i","audience":"a","jwks_url":"http://example.com/jwks"}]}', /jwks_url: must be https/],
  ])('are refused for %s', async (content, error) => {
    await expect(read(content)).rejects.toThrow(error)
  })
})
