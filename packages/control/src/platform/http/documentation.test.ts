import { once } from 'node:events'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { request as send } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { brotliCompressSync, brotliDecompressSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { call, Harness, type RunningControl } from '../../test/harness.ts'

const PAGE = '<!doctype html><h1>Decision</h1>'
const NO_PAGE = '<!doctype html><h1>No such page</h1>'

describe('the documentation', () => {
  let folder: string
  let harness: Harness
  let control: RunningControl

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'offshoot-docs-'))
    await mkdir(join(folder, 'assets'))
    await mkdir(join(folder, 'adr'))
    await writeFile(join(folder, 'index.html'), '<!doctype html><h1>Offshoot</h1>')
    await writeFile(join(folder, 'adr/0001.html'), PAGE)
    await writeFile(join(folder, 'adr/0001.html.br'), brotliCompressSync(PAGE))
    await writeFile(join(folder, '404.html'), NO_PAGE)
    await writeFile(join(folder, '404.html.br'), brotliCompressSync(NO_PAGE))
    await writeFile(join(folder, 'assets/site-1.js'), 'export {}\n')
    await writeFile(join(folder, 'secret.txt'), 'no page')
    harness = await Harness.start()
    control = await harness.control([], { docs_dir: folder })
  })

  afterAll(async () => {
    await harness.stop()
    await rm(folder, { recursive: true })
  })

  const open = (path: string) => call(control.url, 'GET', path, { headers: { accept: 'text/html' } })

  it('has each page at its name, which browsers ask for anew', async () => {
    const { status, body, headers } = await open('/docs/adr/0001')
    expect([status, body, headers.get('content-type')]).toEqual([200, PAGE, 'text/html; charset=utf-8'])
    expect(Object.fromEntries(headers)).toMatchObject({
      'cache-control': 'no-cache',
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
    })
    expect(headers.get('content-security-policy')).toBe(
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    )
    expect([headers.get('etag'), headers.get('last-modified')]).toEqual([null, null])
  })

  it('leads from /docs to its first page', async () => {
    const moved = await fetch(`${control.url}/docs`, { redirect: 'manual' })
    expect([moved.status, moved.headers.get('location')]).toEqual([302, '/docs/'])
    expect((await open('/docs/')).body).toContain('Offshoot')
  })

  it('sends pages compressed to browsers that can take that', async () => {
    const asked = send(`${control.url}/docs/adr/0001`, { headers: { 'accept-encoding': 'gzip, br' } })
    asked.end()
    const [response] = await once(asked, 'response')
    expect(response.headers).toMatchObject({ 'content-encoding': 'br', 'content-type': 'text/html; charset=utf-8' })
    expect(brotliDecompressSync(await buffer(response)).toString()).toBe(PAGE)
  })

  it('has files that browsers keep for good', async () => {
    const { status, headers } = await open('/docs/assets/site-1.js')
    expect([status, headers.get('cache-control')]).toEqual([200, 'public, max-age=31536000, immutable'])
  })

  it.each([
    '/docs/nowhere',
    '/docs/a/b/c',
    '/docs/404',
    '/docs/index.html',
    '/docs/secret.txt',
    '/docs/..%2fsecret.txt',
    '/docs/adr',
    '/docs/adr/',
    '/docs/__proto__',
  ])('has nothing at %s: a page that says so for browsers, the error of the API for programs', async (path) => {
    const page = await open(path)
    expect([page.status, page.body, page.headers.get('content-type')]).toEqual([
      404,
      NO_PAGE,
      'text/html; charset=utf-8',
    ])
    expect(page.headers.get('content-security-policy')).toContain("default-src 'none'")
    const { status, body } = await call(control.url, 'GET', path)
    expect({ status, body }).toEqual({ status: 404, body: { error: 'not found' } })
  })

  it.each(['/docs/assets/', '/docs/assets/nowhere.js'])('has no file at %s', async (path) => {
    const { status, body } = await open(path)
    expect({ status, body }).toEqual({ status: 404, body: { error: 'not found' } })
  })

  it('is no part of the description of the API, and refuses other methods', async () => {
    const { body } = await call(control.url, 'GET', '/openapi.json')
    expect(Object.keys(body.paths).filter((path) => path.startsWith('/docs'))).toEqual([])
    expect((await call(control.url, 'POST', '/docs/adr/0001')).status).toBe(405)
  })
})
