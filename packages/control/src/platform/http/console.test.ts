import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { request as send } from 'node:http'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { brotliCompressSync, brotliDecompressSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { call, Harness, type RunningControl } from '../../test/harness.ts'

const PAGE = '<!doctype html><script type="module" src="/assets/index-1.js"></script>'
const SCRIPT = 'export const long = 1\n'.repeat(100)

/** As a browser that opens a page. */
const html = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }

describe('the console', () => {
  let folder: string
  let harness: Harness
  let control: RunningControl

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'offshoot-console-'))
    await mkdir(join(folder, 'assets'))
    await writeFile(join(folder, 'index.html'), PAGE)
    await writeFile(join(folder, 'icon.svg'), '<svg/>')
    await writeFile(join(folder, 'icon.svg.br'), brotliCompressSync('<svg/>'))
    await writeFile(join(folder, 'assets/index-1.js'), SCRIPT)
    await writeFile(join(folder, 'assets/index-1.js.br'), brotliCompressSync(SCRIPT))
    harness = await Harness.start()
    const preview = { scheme: 'http', port: 8081, suffix: 'localhost' } as const
    control = await harness.control([], { console_dir: folder, preview })
  })

  afterAll(async () => {
    await harness.stop()
    await rm(folder, { recursive: true })
  })

  const open = (path: string, headers: Record<string, string> = html) => call(control.url, 'GET', path, { headers })

  it.each(['/', '/sign-in', '/sandboxes/0b7e?tab=files', '/nowhere', '/v1things'])('opens at %s', async (path) => {
    const { status, headers, body } = await open(path)
    expect([status, body, headers.get('content-type')]).toEqual([200, PAGE, 'text/html; charset=utf-8'])
    expect(headers.get('cache-control')).toBe('no-cache')
    expect(headers.get('content-security-policy')).toBe(
      "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; " +
        "font-src 'self'; connect-src 'self'; frame-src http://*.localhost:8081; manifest-src 'self'; " +
        "base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
    )
    expect(Object.fromEntries(headers)).toMatchObject({
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cross-origin-opener-policy': 'same-origin',
      'permissions-policy': expect.stringContaining('camera=()'),
      'x-request-id': expect.any(String),
    })
  })

  it('sends the page again only after a change', async () => {
    const etag = (await open('/')).headers.get('etag') ?? ''
    expect((await open('/sandboxes', { ...html, 'if-none-match': etag })).status).toBe(304)
    await writeFile(join(folder, 'index.html'), PAGE.replace('index-1', 'index-2'))
    const changed = await open('/', { ...html, 'if-none-match': etag })
    expect([changed.status, changed.headers.get('etag')]).toEqual([200, expect.not.stringMatching(etag)])
    await writeFile(join(folder, 'index.html'), PAGE)
  })

  it.each([
    ['/nowhere', { accept: 'application/json' }],
    ['/nowhere', { accept: '*/*' }],
    ['/v1', html],
    ['/v1/nowhere', html],
    ['/api/nowhere', html],
    ['/mcp/nowhere', html],
    ['/docs/nowhere', html],
    ['/internal/nowhere', html],
    ['/healthz/nowhere', html],
    ['/assets/nowhere.js', html],
    ['/assets/', html],
    ['/assets', html],
    ['/index.html/..%2f..%2fetc/passwd', { accept: '*/*' }],
  ])('is not at %s for %j', async (path, headers) => {
    const { status, body } = await open(path, headers)
    expect({ status, body }).toEqual({ status: 404, body: { error: 'not found' } })
  })

  it.each(['/assets/..%2findex.html', '/assets/%2e%2e/index.html', '/assets//index-1.js'])(
    'serves nothing outside of its files for %s',
    async (path) => {
      const answer = send(`${control.url}${path}`, { path })
      answer.end()
      const [response] = await once(answer, 'response')
      const body = JSON.parse((await buffer(response)).toString())
      expect({ status: response.statusCode, body }).toEqual({ status: 404, body: { error: 'not found' } })
    },
  )

  it('leaves the API as it is for browsers', async () => {
    expect(await open('/v1/sandboxes')).toMatchObject({ status: 401, body: { error: 'unauthorized' } })
    expect((await open('/version')).body).toMatchObject({ service: 'offshoot' })
    const posted = await call(control.url, 'POST', '/sandboxes', { headers: html })
    expect([posted.status, posted.body]).toEqual([404, { error: 'not found' }])
    const asset = await call(control.url, 'POST', '/assets/index-1.js', { headers: html })
    expect([asset.status, asset.headers.get('allow')]).toEqual([405, 'HEAD, GET, OPTIONS'])
  })

  it('has files that browsers keep for good, compressed where the browser can take that', async () => {
    const plain = await open('/assets/index-1.js', { accept: '*/*', 'accept-encoding': 'identity' })
    expect([plain.status, plain.body]).toEqual([200, SCRIPT])
    expect(Object.fromEntries(plain.headers)).toMatchObject({
      'content-type': 'application/javascript; charset=utf-8',
      'cache-control': 'public, max-age=31536000, immutable',
      'x-content-type-options': 'nosniff',
      vary: 'origin, accept-encoding',
    })
    const asked = send(`${control.url}/assets/index-1.js`, { headers: { 'accept-encoding': 'gzip, br' } })
    asked.end()
    const [response] = await once(asked, 'response')
    expect(response.headers).toMatchObject({
      'content-encoding': 'br',
      'content-type': 'application/javascript; charset=utf-8',
    })
    expect(brotliDecompressSync(await buffer(response)).toString()).toBe(SCRIPT)
  })

  it('has an icon that browsers ask for again', async () => {
    const { status, headers } = await open('/icon.svg', { accept: 'image/*' })
    expect([status, headers.get('content-type')]).toEqual([200, 'image/svg+xml'])
    expect(headers.get('cache-control')).toBe('public, max-age=0')
  })

  it('is no part of the description of the API', async () => {
    const { body } = await call(control.url, 'GET', '/openapi.json')
    expect(Object.keys(body.paths).filter((path) => /assets|icon/.test(path))).toEqual([])
  })

  it('is not there without a folder', async () => {
    const without = await harness.control([])
    const { status, body } = await call(without.url, 'GET', '/', { headers: html })
    expect({ status, body }).toEqual({ status: 404, body: { error: 'not found' } })
    await without.stop()
  })
})
