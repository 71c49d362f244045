import { symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import type { ServedApp } from './app-fault-cases.ts'
import { call } from './http.ts'
import { until } from './until.ts'

interface Site {
  readonly id: string
  readonly url: string
  readonly sandbox: string
}

const LARGE = 'x'.repeat(600_000)
const HASHED = 'assets/app-4f7a9c1e.js'

const files = {
  'index.html': 'first',
  'about.html': 'about',
  '404.html': 'lost',
  'docs/index.html': 'docs',
  'docs/2.1/index.html': 'version',
  'empty/a.txt': 'ä',
  '.env': 'hidden',
  '.well-known/id': 'id',
  'large.txt': LARGE,
  [HASHED]: 'export {}',
}

async function links(folder: string): Promise<void> {
  await symlink('/etc/hostname', join(folder, 'out'))
  await symlink('/etc', join(folder, 'etc'))
  await symlink('docs/2.1', join(folder, 'latest'))
  await symlink('circle', join(folder, 'circle'))
  await symlink('nowhere', join(folder, 'dangling'))
}

/** Static sites, served by real guests. */
export function appSiteCases(served: () => Omit<ServedApp, 'app'>): void {
  let site: Site
  let page: Site

  async function deployed(name: string, fields: object = {}): Promise<Site> {
    const { git, offshoot, deploy } = served()
    const { body } = await offshoot.request('POST', '/v1/apps', { body: { name, git_url: git.urlOf(name), ...fields } })
    const ended = await deploy({}, body.id)
    expect([ended.status, ended.error]).toEqual(['live', null])
    return { id: body.id, url: body.url, sandbox: ended.sandbox_id ?? '' }
  }

  async function ask(path: string, { of = site, method = 'GET', headers = {} } = {}) {
    const { host } = new URL(of.url)
    return call(method, served().offshoot.credentials.edge_url + path, { headers: { host, ...headers } })
  }

  it('are served as they are, or as they were built', { tags: ['faults'] }, async () => {
    const { git } = served()
    await git.commit('site', files, { before: links })
    await git.commit('one-page', { 'dist/index.html': 'first', 'dist/a.js': 'one', 'dist/.env': 'hidden', 'a.txt': '' })
    const asBuilt = { framework: 'vite', install_command: 'true', build_command: 'true' }
    ;[site, page] = await Promise.all([deployed('site'), deployed('one-page', asBuilt)])
    expect([(await ask('/')).status, (await ask('/', { of: page })).status]).toEqual([200, 200])
  })

  it('answer paths with what is in the site, and with nothing else', { tags: ['faults'] }, async () => {
    const expected = [
      ['/', 200, 'first'],
      ['/?a=b', 200, 'first'],
      ['/about', 200, 'about'],
      ['/about.html', 200, 'about'],
      ['/docs/', 200, 'docs'],
      ['/docs/2.1/', 200, 'version'],
      ['/latest/', 200, 'version'],
      ['/.well-known/id', 200, 'id'],
      ['/none', 404, 'lost'],
      ['/empty/', 404, 'lost'],
      ['/about/more', 404, 'lost'],
      ['/.env', 404, 'lost'],
      ['/.git/config', 404, 'lost'],
      ['/out', 404, 'lost'],
      ['/etc/hostname', 404, 'lost'],
      ['/circle', 404, 'lost'],
      ['/dangling', 404, 'lost'],
    ] as const
    for (const [path, status, text] of expected) {
      const answer = await ask(path)
      expect([path, answer.status, answer.text]).toEqual([path, status, text])
    }
    for (const path of ['/docs/..%2f..%2fetc/hostname', '/%00', '/%']) {
      expect([path, (await ask(path)).status]).toEqual([path, 400])
    }
  })

  it('lead to folders, tell what a file is, send none twice, and take nothing', { tags: ['faults'] }, async () => {
    const folder = await ask('/docs?a=b')
    expect([folder.status, folder.headers['location']]).toEqual([301, '/docs/?a=b'])
    const { headers } = await ask('/empty/a.txt')
    expect(headers).toMatchObject({ 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-cache' })
    const again = await ask('/empty/a.txt', { headers: { 'if-none-match': String(headers['etag']) } })
    expect([again.status, again.text]).toEqual([304, ''])
    expect((await ask(`/${HASHED}`)).headers).toMatchObject({
      'content-type': 'application/javascript; charset=utf-8',
      'cache-control': 'public, max-age=31536000, immutable',
    })
    expect((await ask('/large.txt')).text).toHaveLength(LARGE.length)
    const part = await ask('/large.txt', { headers: { range: 'bytes=0-9' } })
    expect([part.status, part.text]).toEqual([206, LARGE.slice(0, 10)])
    const packed = await ask('/large.txt', { headers: { 'accept-encoding': 'gzip' }, method: 'HEAD' })
    expect(packed.headers['content-encoding']).toBe('gzip')
    const head = await ask('/large.txt', { method: 'HEAD' })
    expect([head.status, head.text, head.headers['content-length']]).toEqual([200, '', String(LARGE.length)])
    const refused = await ask('/', { method: 'POST' })
    expect([refused.status, refused.headers['allow']]).toEqual([405, 'GET, HEAD'])
  })

  it('answer every path without a file by their one page, if they have one', { tags: ['faults'] }, async () => {
    const paths = ['/', '/people/7', '/a.js', '/lost.js', '/.env', '/a.txt']
    const seen = await Promise.all(paths.map((path) => ask(path, { of: page })))
    expect(seen.map(({ status, text }) => [status, text])).toEqual([
      [200, 'first'],
      [200, 'first'],
      [200, 'one'],
      [404, 'first'],
      [404, 'first'],
      [404, 'first'],
    ])
  })

  it('are served again by another server when theirs ends', { tags: ['long'] }, async () => {
    await served().offshoot.exec(site.sandbox, 'pkill -9 nginx')
    await until('another server', async () => (await ask('/')).text === 'first')
  })

  it('are deleted, and their addresses are nobody’s', { tags: ['faults'] }, async () => {
    const { offshoot } = served()
    for (const { id } of [site, page]) expect((await offshoot.request('DELETE', `/v1/apps/${id}`)).status).toBe(204)
    for (const each of [site, page])
      await until('the end of the address', async () => (await ask('/', { of: each })).status === 404)
  })
}
