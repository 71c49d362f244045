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

  it('say whether control orders a certificate, and the environment overrides them', async () => {
    const tls = { name: 'api.example.com', acme: { email: 'me@example.com' } }
    const ordered = {
      acme: { directory_url: 'https://acme-v02.api.letsencrypt.org/directory', http_port: 80 },
      host: '::',
      port: 443,
    }
    const said = await read('{"public_url":"https://a.example.com:8443","tls":{"acme":{"http_port":null},"port":8443}}')
    expect(said.tls).toEqual({ ...ordered, acme: { ...ordered.acme, http_port: null }, port: 8443 })
    const path = join(folder, 'settings.json')
    expect(await readSettings(path, tls)).toEqual({
      ...said,
      public_url: 'https://api.example.com',
      tls: { ...said.tls, acme: { ...said.tls?.acme, email: 'me@example.com' } },
    })
    expect(await readSettings(join(folder, 'none.json'), tls)).toMatchObject({
      public_url: 'https://api.example.com',
      tls: { ...ordered, acme: { ...ordered.acme, email: 'me@example.com' } },
    })
    await writeFile(path, '{"tls":{"cert":"/c","key":"/k"}}')
    await expect(readSettings(path, tls)).rejects.toThrow('tls: must have either acme, or cert and key.')
  })

  it.each([
    ['{"tls":{}}', /tls: must have either acme, or cert and key/],
    ['{"tls":{"cert":"/c"}}', /tls: must have either acme, or cert and key/],
    ['{"tls":{"acme":{}}}', /tls.acme needs a public_url with https and a name in the public DNS/],
    ['{"public_url":"http://api.example.com","tls":{"acme":{}}}', /tls.acme needs a public_url/],
    ['{"public_url":"https://192.0.2.1","tls":{"acme":{}}}', /tls.acme needs a public_url/],
    ['{"public_url":"https://localhost","tls":{"acme":{}}}', /tls.acme needs a public_url/],
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
