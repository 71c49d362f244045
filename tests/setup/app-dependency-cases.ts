import { execFile } from 'node:child_process'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { beforeAll, expect, it } from 'vitest'
import type { ServedApp } from './app-fault-cases.ts'
import { until } from './until.ts'

const run = promisify(execFile)
/** Milliseconds for work after a deploy, on an emulated CPU of a busy machine. */
const KEEP_MS = 120_000
const SECRET = 'a-secret-that-installing-needs-4711'
const MARK = 'installed-once-and-found-again-4711'

/** The app reports which dependencies it found. Its install command writes them, so nothing is downloaded. */
const files = (version: string, lock = '1') => ({
  'package.json': JSON.stringify({ dependencies: { own: '1' }, scripts: { start: 'node server.js' } }),
  'package-lock.json': lock,
  '.gitignore': 'node_modules\n',
  'server.js': `require('node:http').createServer((_, response) => response.end(JSON.stringify({
    version: '${version}', own: require('own'), secret: process.env.SECRET }))).listen(process.env.PORT)`,
})
const INSTALL = `test -n "$SECRET" && mkdir -p node_modules/own && echo "module.exports = '${MARK} '+'$(cat /proc/sys/kernel/random/uuid)'" > node_modules/own/index.js`

/** Dependencies that one build installed and the next build reuses, in real guests. */
export function appDependencyCases(served: () => Omit<ServedApp, 'app'>): void {
  let app: { id: string; url: string }

  beforeAll(async () => {
    const { git, offshoot } = served()
    await git.commit('installs', files('one'))
    const commands = { install_command: INSTALL, start_command: 'node server.js' }
    const body = { name: 'installs', git_url: git.urlOf('installs'), env: { SECRET }, ...commands }
    app = (await offshoot.request('POST', '/v1/apps', { body })).body
  })

  async function deploy(id = app.id): Promise<string> {
    const ended = await served().deploy({}, id)
    expect([ended.status, ended.error]).toEqual(['live', null])
    return ended.build_logs
  }

  const page = async (version: string) =>
    until('the version', async () => {
      const { status, text } = await served().visit('/', app.url)
      // The edge learns of the switch a moment after the row changes.
      if (status !== 200) return null
      const said = JSON.parse(text) as { version: string; own: string; secret: string }
      return said.version === version ? said : null
    })
  const kept = async () =>
    /^offshoot_app_trees\{status="ready"\} 1$/m.test((await served().offshoot.request('GET', '/metrics')).text)
  const templates = () => readdir(join(served().offshoot.dataDir, 'agent/templates'))

  it('start from what the build before has installed, without a variable of it', { tags: ['long'] }, async () => {
    const { git, offshoot } = served()
    expect(await deploy()).toContain('==> install: test -n')
    const { own } = await page('one')
    expect(own).toContain(MARK)
    await until('what was installed', kept, KEEP_MS, 50)
    const [id = ''] = await templates()
    const folders = ['templates', 'bakes'].map((kind) => join(offshoot.dataDir, 'agent', kind, id))
    expect([await has(MARK, folders), await has(SECRET, folders)]).toEqual([true, false])
    await git.commit('installs', files('two'))
    expect(await deploy()).toContain('==> install: as it was')
    expect(await page('two')).toEqual({ version: 'two', own, secret: SECRET })
  })

  it('install anew when the lock file is another, and what they keep goes with them', { tags: ['long'] }, async () => {
    const { git, offshoot } = served()
    await git.commit('installs', files('three', '2'))
    const log = await deploy()
    expect(log).toContain('its dependencies are others than before')
    expect((await page('three')).own).toContain(MARK)
    await until('the other one in its place', async () => (await kept()) && (await templates()).length === 1, KEEP_MS)
    expect((await offshoot.request('DELETE', `/v1/apps/${app.id}`)).status).toBe(204)
    await until('nothing left', async () => (await templates()).length === 0, KEEP_MS)
  })
}

/** Whether any file of a template contains the text. The base image is excluded, because all workspaces share it. */
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
