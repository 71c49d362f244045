import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findFreePort } from '@offshoot/kit/free-port'
import { request } from 'undici'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const SERVER = join(import.meta.dirname, 'static-server.cjs')
const LARGE_BYTES = 600_000

describe('the server of a site', () => {
  const servers: ChildProcess[] = []
  let folder: string
  let url: string
  let pageUrl: string

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'offshoot-site-'))
    for (const name of ['docs', '.git', '.well-known']) await mkdir(join(folder, name))
    const files = { 'index.html': 'first', 'about.html': 'about', 'docs/index.html': 'docs', 'a.css': '*{}' }
    for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text)
    for (const name of ['.git/config', '.well-known/id']) await writeFile(join(folder, name), name)
    await writeFile(join(folder, 'large.bin'), Buffer.alloc(LARGE_BYTES, 1))
    await symlink('/etc/hostname', join(folder, 'out'))
    await symlink('circle', join(folder, 'circle'))
    await symlink('nowhere', join(folder, 'dangling'))
    url = await serve({})
    pageUrl = await serve({ OFFSHOOT_SINGLE_PAGE: '1' })
  })

  afterAll(async () => {
    for (const server of servers) {
      const ended = once(server, 'exit')
      server.kill()
      await ended
    }
    await rm(folder, { recursive: true, force: true })
  })

  async function serve(env: Record<string, string>): Promise<string> {
    const port = await findFreePort()
    const server = spawn(process.execPath, [SERVER], { cwd: folder, env: { ...env, PORT: String(port) } })
    servers.push(server)
    await once(server.stdout, 'data', { signal: AbortSignal.timeout(30_000) })
    return `http://localhost:${port}`
  }

  async function ask(path: string, options: { base?: string; method?: 'HEAD' | 'POST'; headers?: object } = {}) {
    const { base = url, method = 'GET', headers = {} } = options
    const { statusCode, headers: answered, body } = await request(base + path, { method, headers: { ...headers } })
    return { status: statusCode, headers: answered, text: await body.text() }
  }

  it.each([
    ['/', 200, 'first'],
    ['/?a=b', 200, 'first'],
    ['/about', 200, 'about'],
    ['/docs/', 200, 'docs'],
    ['/a.css', 200, '*{}'],
    ['/.well-known/id', 200, '.well-known/id'],
    ['/none', 404, 'not found\n'],
    ['/docs/../../etc/hostname', 404, 'not found\n'],
    ['/%2e%2e/%2e%2e/etc/hostname', 404, 'not found\n'],
    ['/.git/config', 404, 'not found\n'],
    ['/out', 404, 'not found\n'],
    ['/circle', 404, 'not found\n'],
    ['/dangling', 404, 'not found\n'],
    ['/index.html/more', 404, 'not found\n'],
    ['/%00', 404, 'not found\n'],
    ['/%', 400, ''],
  ])('answers %s with %i', async (path, status, text) => {
    const answer = await ask(path)
    expect([answer.status, answer.text]).toEqual([status, text])
  })

  it('leads to folders, tells what a file is, and sends none twice', async () => {
    const folderAnswer = await ask('/docs?a=b')
    expect([folderAnswer.status, folderAnswer.headers['location']]).toEqual([308, '/docs/?a=b'])
    const { headers } = await ask('/a.css')
    expect(headers).toMatchObject({ 'content-type': 'text/css; charset=utf-8', 'content-length': '3' })
    const again = await ask('/a.css', { headers: { 'if-none-match': String(headers['etag']) } })
    expect([again.status, again.text]).toEqual([304, ''])
  })

  it('sends large files whole, no body for HEAD, and takes nothing', async () => {
    expect((await ask('/large.bin')).text).toHaveLength(LARGE_BYTES)
    for (const path of ['/large.bin', '/']) {
      const { status, text, headers } = await ask(path, { method: 'HEAD' })
      expect([status, text, headers['content-length']]).toEqual([200, '', path === '/' ? '5' : String(LARGE_BYTES)])
    }
    expect((await ask('/', { method: 'POST' })).status).toBe(405)
  })

  it('answers every path without a file by its one page, where it has one', async () => {
    expect(await ask('/people/7', { base: pageUrl })).toMatchObject({ status: 200, text: 'first' })
    expect(await ask('/lost.js', { base: pageUrl })).toMatchObject({ status: 404, text: 'first' })
  })
})
