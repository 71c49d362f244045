/** What one build of an app has installed, from which the next one starts: in real guests. */
import { execFile } from 'node:child_process'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { GitHost } from './setup/git-host.ts'
import { call } from './setup/http.ts'
import { Offshoot } from './setup/offshoot.ts'
import { until } from './setup/until.ts'

const run = promisify(execFile)
/** Milliseconds for a deploy, and for what is made of it, on an emulated processor of a busy machine. */
const DEPLOY_MS = 120_000
const SECRET = 'a-secret-that-installing-needs-4711'
const MARK = 'installed-once-and-found-again-4711'

/** Says what it found: written by its install command, which nothing has to be fetched for. */
const files = (version: string, lock = '1') => ({
  'package.json': JSON.stringify({ dependencies: { own: '1' }, scripts: { start: 'node server.js' } }),
  'package-lock.json': lock,
  '.gitignore': 'node_modules\n',
  'server.js': `require('node:http').createServer((_, response) => response.end(JSON.stringify({
    version: '${version}', own: require('own'), secret: process.env.SECRET }))).listen(process.env.PORT)`,
})
const INSTALL = `test -n "$SECRET" && mkdir -p node_modules/own && echo "module.exports = '${MARK} '+'$(cat /proc/sys/kernel/random/uuid)'" > node_modules/own/index.js`

describe('dependencies of an app', () => {
  let git: GitHost
  let offshoot: Offshoot
  let app: { id: string; url: string }

  beforeAll(async () => {
    git = await GitHost.start()
    await git.commit('app', files('one'))
    const env = { OFFSHOOT_EGRESS_ALLOW: git.exception }
    offshoot = await Offshoot.start('apps-dependencies', { templates: ['app'], env })
    const body = { name: 'app', git_url: git.urlOf('app'), env: { SECRET }, install_command: INSTALL }
    app = (await offshoot.request('POST', '/v1/apps', { body })).body
  })

  afterAll(async () => {
    await offshoot?.destroy()
    await git?.stop()
  })

  async function deploy(id = app.id): Promise<string> {
    const { body: row } = await offshoot.request('POST', `/v1/apps/${id}/deploys`)
    const path = `/v1/apps/${id}/deploys/${row.id}`
    const over = async () => {
      const { body } = await offshoot.request('GET', path)
      return ['live', 'failed'].includes(body.status) ? body : null
    }
    const ended = await until('the end of the deploy', over, DEPLOY_MS, 50)
    expect([ended.status, ended.error]).toEqual(['live', null])
    return ended.build_logs
  }

  const page = async (version: string) => {
    const headers = { host: new URL(app.url).host }
    return until('the version', async () => {
      const { status, text } = await call('GET', offshoot.credentials.edge_url, { headers })
      // The edge is told a moment later than the row says so.
      if (status !== 200) return null
      const said = JSON.parse(text) as { version: string; own: string; secret: string }
      return said.version === version ? said : null
    })
  }
  const kept = async () => {
    const { text } = await call('GET', `${offshoot.credentials.base_url}/metrics`)
    return /^offshoot_app_trees\{status="ready"\} 1$/m.test(text)
  }
  const templates = () => readdir(join(offshoot.dataDir, 'agent/templates'))

  it('are what the next build starts from, without a variable of the first in them', async () => {
    expect(await deploy()).toContain('==> install: test -n')
    const { own } = await page('one')
    expect(own).toContain(MARK)
    await until('what was installed', kept, DEPLOY_MS, 50)
    const [id = ''] = await templates()
    const folders = ['templates', 'bakes'].map((kind) => join(offshoot.dataDir, 'agent', kind, id))
    expect([await has(MARK, folders), await has(SECRET, folders)]).toEqual([true, false])
    await git.commit('app', files('two'))
    expect(await deploy()).toContain('==> install: as it was')
    expect(await page('two')).toEqual({ version: 'two', own, secret: SECRET })
  })

  it('are none of a site: it is served by the server that waits in the template, and by another when that ends', async () => {
    await git.commit('site', { 'index.html': '<h1>a site</h1>', 'about.html': 'about' })
    const { body: site } = await offshoot.request('POST', '/v1/apps', {
      body: { name: 'site', git_url: git.urlOf('site') },
    })
    await deploy(site.id)
    const visit = async (path: string) =>
      call('GET', offshoot.credentials.edge_url + path, { headers: { host: new URL(site.url).host } })
    await until('the site', async () => (await visit('/')).text === '<h1>a site</h1>')
    expect([(await visit('/about')).text, (await visit('/none')).status]).toEqual(['about', 404])
    const { body: sandboxes } = await offshoot.request('GET', `/v1/sandboxes?metadata.app_id=${site.id}`)
    const { id } = sandboxes[0]
    const server = `ss -Hltnp 'sport = :3000' | grep -o 'pid=[0-9]*' | cut -d= -f2`
    const waiting = await offshoot.exec(id, `tr '\\0' ' ' < /proc/$(${server})/cmdline`)
    expect(waiting.stdout).toContain('/run/offshoot-site')
    await offshoot.exec(id, `kill -9 $(${server})`)
    await until('another server', async () => (await visit('/')).text === '<h1>a site</h1>')
    expect((await offshoot.request('DELETE', `/v1/apps/${site.id}`)).status).toBe(204)
  })

  it('are installed anew when the lock file is another, and go with the app', async () => {
    await git.commit('app', files('three', '2'))
    const log = await deploy()
    expect(log).toContain('its dependencies are others than before')
    expect((await page('three')).own).toContain(MARK)
    await until('the other one in its place', async () => (await kept()) && (await templates()).length === 1, DEPLOY_MS)
    expect((await offshoot.request('DELETE', `/v1/apps/${app.id}`)).status).toBe(204)
    await until('nothing left', async () => (await templates()).length === 0, DEPLOY_MS)
    expect(await offshoot.virtualMachines()).toEqual([])
  })
})

/** Whether any file of a template has it; the image that it was made over is everybody's. */
async function has(text: string, folders: readonly string[]): Promise<boolean> {
  const grep = run('grep', ['-rlF', '--exclude=rootfs.ext4', text, ...folders])
  return grep.then(
    () => true,
    ({ code }: { code?: unknown }) => {
      if (code === 1) return false
      throw new Error(`grep ended with ${String(code)}`)
    },
  )
}
