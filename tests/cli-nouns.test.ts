/** @module-tag long */
/** The commands of `offshoot` for volumes, snapshots, templates and apps, against one server. */
import { execFile } from 'node:child_process'
import { chmod, mkdir, readFile, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { busyboxRoot } from '@offshoot/agent/test/busybox-root'
import { tarArchive } from '@offshoot/agent/test/tar-archive'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { CommandLine } from './setup/cli.ts'
import { refusal, runExamples } from './setup/cli-examples.ts'
import { GitHost } from './setup/git-host.ts'
import { call } from './setup/http.ts'
import { nodeApp } from './setup/node-app.ts'
import { Offshoot } from './setup/offshoot.ts'
import { runTutorial } from './setup/tutorial.ts'
import { until } from './setup/until.ts'

/** The repository in the documentation. */
const REPOSITORY = 'https://git.example.com/you/site.git'
const NOBODY = '00000000-0000-4000-8000-000000000000'

let offshoot: Offshoot
let git: GitHost
let cli: CommandLine

beforeAll(async () => {
  git = await GitHost.start()
  await git.commit('site', nodeApp('one'))
  offshoot = await Offshoot.start('cli-nouns', {
    templates: ['minimal', 'app'],
    env: { OFFSHOOT_EGRESS_ALLOW: git.exception },
  })
  cli = await CommandLine.of(offshoot)
  const archive = tarArchive(await busyboxRoot())
  await mkdir(local('rootfs'))
  await writeFile(local('image.tar'), archive)
  await promisify(execFile)('tar', ['-C', local('rootfs'), '-xf', local('image.tar')])
  await writeFile(local('.env'), 'SECRET=known inside\n')
})
afterAll(async () => {
  await cli?.remove()
  await offshoot?.destroy()
  await git?.stop()
})

const local = (name: string) => join(cli.folder, name)

const examples = async (section: string) =>
  runExamples(cli, section, (line) => line.replace(REPOSITORY, git.urlOf('site')))
const refused = async (code: number, argv: readonly string[], options = {}) => refusal(cli, code, argv, options)

describe('volumes and snapshots', () => {
  it('are made, listed, grown, copied and deleted', async () => {
    await examples('Volumes')
    const worker = await cli.ok(['sandbox', 'ls', '-q', '-m', 'name=worker'])
    expect(await cli.ok(['volume', 'ls'])).toMatch(new RegExp(`^data +32.0 MiB +.+ ${worker.slice(0, 8)} +\\d+s$`, 'm'))
    expect(await cli.ok(['volume', 'ls', '-q', '--free'])).toBe('copy')
    expect(await cli.ok(['volume', 'show', 'data'])).toMatch(/^size +32.0 MiB$/m)
    expect(await cli.json(['volume', 'show', 'data'])).toMatchObject({ attached_to: worker, size_mb: 32 })
    const snapshot = await cli.ok(['volume', 'snapshots', 'data', '-q'])
    expect(await cli.ok(['volume', 'create', 'again', '--from-snapshot', snapshot])).toBe('again')
    expect(await cli.json(['volume', 'clone', 'again', 'third'])).toMatchObject({ name: 'third', size_mb: 32 })
    expect(await refused(2, ['volume', 'snapshots', 'data', '--rm', snapshot])).toContain('--yes')
    expect(await cli.ok(['volume', 'snapshots', 'data', '--rm', snapshot.slice(0, 6), '-y'])).toBe(snapshot)
    expect(await cli.json(['volume', 'snapshots', 'data'])).toEqual([])
    expect(await refused(3, ['volume', 'snapshots', 'data', '--rm', snapshot, '-y'])).toContain('there is no')
    expect(await refused(3, ['volume', 'show', 'nothing'])).toMatch(/^there is no volume "nothing": list them with/)
    expect(await refused(1, ['volume', 'create', 'data'])).toContain('already exists')
    expect(await refused(1, ['volume', 'resize', 'data', '1'])).toContain('size_mb')
    expect(await refused(1, ['volume', 'rm', 'data', '--yes'])).toContain('data')
    await cli.ok(['sandbox', 'rm', 'worker'])
    expect(await refused(2, ['volume', 'rm', 'data', 'copy'])).toContain('volumes with all their data: data, copy')
    const removed = await cli.ok(['volume', 'rm', 'data', 'copy', 'again', 'third', '--yes'])
    expect(removed.split('\n').toSorted()).toEqual(['again', 'copy', 'data', 'third'])
    expect(await cli.run(['volume', 'ls'])).toMatchObject({ code: 0, stdout: '' })
  })

  it('of sandboxes are listed, shown and deleted', async () => {
    await examples('Snapshots')
    expect(await cli.run(['snapshot', 'ls', '--sandbox', 'box'])).toMatchObject({ code: 0, stdout: '' })
    const id = await cli.ok(['sandbox', 'snapshot', 'box', 'after'])
    const box = await cli.ok(['sandbox', 'ls', '-q', '-m', 'name=box'])
    expect(await cli.ok(['snapshot', 'ls'])).toMatch(new RegExp(`^${id} +after +${box.slice(0, 8)} +minimal +`, 'm'))
    expect(await cli.ok(['snapshot', 'ls', '-q', '--name', 'after', '--template', 'minimal'])).toBe(id)
    expect(await cli.json(['snapshot', 'show', id.slice(0, 7)])).toMatchObject({ id, name: 'after' })
    expect(await cli.ok(['snapshot', 'show', 'after'])).toMatch(/^name +after$/m)
    expect(await refused(3, ['snapshot', 'show', 'nothing'])).toContain('there is no snapshot "nothing"')
    expect(await refused(3, ['snapshot', 'rm', NOBODY, '-y'])).toContain('not found')
    expect(await cli.ok(['snapshot', 'rm', id.slice(0, 7), '--yes'])).toBe(id)
    await cli.ok(['sandbox', 'rm', ...(await cli.ok(['sandbox', 'ls', '-q'])).split('\n')])
  })
})

describe('templates', () => {
  it('are built of archives and folders with their log, and deleted', async () => {
    await examples('Templates')
    expect(await cli.run(['template', 'ls', '--own'])).toMatchObject({ code: 0, stdout: '' })
    expect(await cli.ok(['template', 'ls'])).toMatch(/^minimal +\d+ +\d+ MiB +.+ the server +\d+\w$/m)
    const [replaced, first] = await cli.json(['template', 'builds', 'web'])
    expect([replaced.status, first.status]).toEqual(['done', 'done'])
    expect(await cli.ok(['template', 'builds', '--status', 'done'])).toContain(`${first.id}  web`)
    expect(await cli.ok(['template', 'logs', '-f', first.id.slice(0, 8)])).not.toBe('')
    const archive = await readFile(local('image.tar'))
    const small = ['--size', '64', '--memory', '128']
    const fromInput = await cli.run(['template', 'build', 'piped', '-', ...small], { stdin: archive })
    expect(fromInput).toMatchObject({ code: 0, stdout: 'piped\n', stderr: expect.stringMatching(/\S+\n/) })
    expect(await cli.json(['template', 'show', 'piped'])).toMatchObject({ name: 'piped', memory_mb: 128 })
    // The server refuses before it has read the archive.
    await truncate(local('image.tar'), 64 * 1024 * 1024)
    expect(await refused(1, ['template', 'build', 'piped', 'image.tar', ...small])).toMatch(
      /^there is a template "piped" already: replace it with --replace$/,
    )
    expect(await refused(1, ['template', 'build', 'broken', '-'], { stdin: 'no archive' })).toMatch(
      /^the build of broken failed \(\w+: .+\): read its log with offshoot template logs /,
    )
    expect(await refused(1, ['template', 'build', 'broken', 'no-such-file'])).toContain('no such file or directory')
    expect(await refused(1, ['template', 'build', 'broken', 'rootfs'], { env: { PATH: '/nonexistent' } })).toBe(
      'packing a folder needs the program tar: install it, or name an archive',
    )
    expect(await refused(3, ['template', 'logs', 'nothing'])).toContain('there is no build "nothing"')
    expect(await refused(3, ['template', 'show', 'nothing'])).toContain('there is no template "nothing"')
    expect(await refused(4, ['template', 'rm', 'minimal', '-y'])).not.toBe('')
  })

  it('are made of sandboxes, and builds are cancelled', async () => {
    await cli.ok(['sandbox', 'create', 'origin', '--template', 'minimal'])
    expect(await cli.ok(['template', 'save', 'origin', 'mine', '--memory', '-q'])).toBe('mine')
    const detached = await cli.ok(['template', 'build', 'slow', 'image.tar', '-d', '--ready', 'false'])
    expect(await cli.ok(['template', 'cancel', 'slow'])).toBe(detached)
    const ended = async () => (await cli.json(['template', 'builds', 'slow']))[0].status === 'failed'
    await until('the end of the build', ended)
    await cli.ok(['sandbox', 'rm', 'origin'])
    const own = (await cli.ok(['template', 'ls', '--own', '-q'])).split('\n')
    expect(own).toEqual(['mine', 'piped'])
    expect((await cli.ok(['template', 'rm', ...own, '--yes'])).split('\n').toSorted()).toEqual(own)
  })
})

describe('apps', () => {
  it('are deployed as the tutorial shows', async () => {
    expect(await runTutorial(offshoot, [7], { [REPOSITORY]: git.urlOf('site') })).toEqual([])
  })

  it('are deployed with their log, followed without a gap, rolled back and deleted', async () => {
    await examples('Apps')
    const app = await cli.json(['app', 'show', 'site'])
    const { id } = app
    expect(app).toMatchObject({ status: 'running', env: { SECRET: '***' } })
    expect(await cli.ok(['app', 'ls'])).toMatch(new RegExp(`^${id} +site +running +main +http`, 'm'))
    expect(await cli.ok(['app', 'ls', '-q', '--status', 'running'])).toBe(id)
    expect(await cli.json(['app', 'ls', '--previews-of', 'site'])).toEqual([])
    expect(await cli.ok(['app', 'show', id.slice(0, 8)])).toMatch(/^variables +SECRET$/m)
    const [first] = await cli.json(['app', 'deployments', 'site'])
    expect(await cli.ok(['app', 'build-logs', 'site'])).toContain('==> build')
    expect(await cli.ok(['app', 'build-logs', '-f', 'site', first.id.slice(0, 8)])).toContain('==> build')
    const { host } = new URL(app.url)
    const visit = async (path: string) => call('GET', offshoot.credentials.edge_url + path, { headers: { host } })
    let seen = ''
    const following = cli.run(['app', 'logs', '-f', 'site'], {
      until: (stdout) => {
        seen = stdout
        return stdout.includes('/of-two')
      },
    })
    await visit('/of-one')
    await until('the first line', () => seen.includes('/of-one'))
    // The stream breaks, and another version takes over before the client is back.
    await offshoot.killService('control')
    await visit('/still-of-one')
    const commit = await git.commit('site', nodeApp('two'))
    const deployed = await cli.run(['app', 'deploy', 'site', commit])
    expect(deployed).toMatchObject({ code: 0, stderr: expect.stringMatching(/==> build[^]*\nLive: http\S+\n$/) })
    await visit('/of-two')
    const { code, stdout } = await following
    expect(code).toBe(0)
    for (const path of ['/of-one', '/still-of-one', '/of-two'])
      expect(stdout.split('\n').filter((line) => line === `asked for ${path}`)).toHaveLength(1)
    expect(await cli.ok(['app', 'logs', 'site'])).toContain('asked for /of-two')

    const back = await cli.ok(['app', 'rollback', 'site', first.id.slice(0, 8), '-q'])
    expect(JSON.parse((await visit('/')).text).version).toBe('one')
    const rows = await cli.ok(['app', 'deployments', 'site'])
    expect(rows.split('\n').map((row) => row.split(/ +/).slice(0, 2))).toEqual([
      ['ID', 'STATUS'],
      [back, 'live'],
      [deployed.stdout.trim(), 'superseded'],
      [first.id, 'superseded'],
    ])
    expect(await refused(1, ['app', 'deploy', 'site', 'no-such-branch', '-q'])).toMatch(
      /^the deployment failed \(.*no-such-branch.*\): read its log with offshoot app build-logs site /,
    )
    const unwanted = await cli.ok(['app', 'deploy', 'site', '--detach'])
    expect(await cli.ok(['app', 'cancel', 'site', unwanted.slice(0, 8)])).toBe(unwanted)
    expect(await refused(1, ['app', 'cancel', 'site', first.id])).not.toBe('')
  })

  it('have settings, variables and domains', async () => {
    const site = await cli.ok(['app', 'ls', '-q'])
    expect(await cli.ok(['app', 'set', 'site', '--max-instances', '2', '--no-auto-deploy', '-q'])).toBe(site)
    expect(await cli.json(['app', 'show', 'site'])).toMatchObject({
      max_instances: 2,
      build_command: 'echo {} > built.json',
    })
    expect(await cli.ok(['app', 'env', 'site'])).toBe('SECRET')
    const env = await cli.run(['app', 'env', 'site', '--replace', '-'], { stdin: 'A=1\nB="two words"\n' })
    expect(env).toMatchObject({ code: 0, stdout: 'A\nB\n', stderr: expect.stringMatching(/^Removed: SECRET$/m) })
    const added = await cli.run(['app', 'domains', 'site', '--add', 'www.example.com'])
    expect(added).toMatchObject({ code: 0, stdout: 'www.example.com pending\n' })
    expect(added.stderr).toMatch(/^Set this DNS record, .+: _offshoot\.www\.example\.com TXT "\S+"$/m)
    expect(await cli.ok(['app', 'domains', 'site'])).toMatch(
      /^www\.example\.com +pending +_offshoot\.www\.example\.com +\S+$/m,
    )
    const pem = ['--certificate', '.env', '--private-key', '.env']
    expect(await refused(1, ['app', 'domains', 'site', '--add', 'www.example.com', ...pem])).toContain('certificate')
    expect(await cli.ok(['app', 'domains', 'site', '--rm', 'www.example.com'])).toBe('www.example.com')
    expect(await cli.json(['app', 'domains', 'site'])).toEqual([])

    await cli.ok(['app', 'set', 'site', '--visibility', 'private'])
    const link = await cli.json(['app', 'link', 'site', '--label', 'press', '--expires', '2h'])
    expect(link.url).toContain('offshoot_token=')
    expect(await cli.ok(['app', 'links', 'site'])).toMatch(new RegExp(`^${link.id} +press +`, 'm'))
    expect(await cli.ok(['app', 'links', 'site', '--rm', link.id.slice(0, 8)])).toBe(link.id)
    expect(await cli.json(['app', 'links', 'site'])).toMatchObject([{ label: 'review' }])
    expect(await refused(3, ['app', 'links', 'site', '--rm', 'press'])).toContain('there is no link "press"')

    await mkdir(local('bin'))
    const opener = local('bin/xdg-open')
    await writeFile(opener, `#!/bin/sh\nprintf %s "$1" > '${local('opened')}'\n`)
    await chmod(opener, 0o755)
    const address = await cli.ok(['app', 'open', 'site'], { env: { PATH: local('bin') } })
    expect(await readFile(local('opened'), 'utf8')).toBe(address)
    expect(await cli.run(['app', 'open', 'site'], { env: { PATH: '' } })).toMatchObject({
      code: 0,
      stdout: `${address}\n`,
    })

    expect(await refused(1, ['app', 'create', 'site', git.urlOf('site')])).not.toBe('')
    expect(await refused(1, ['app', 'create', 'x', 'ssh://x'])).toContain('git_url')
    expect(await refused(3, ['app', 'logs', 'nothing'])).toContain('there is no app "nothing"')
    expect(await refused(2, ['app', 'rm', 'site'])).toContain('--yes')
    expect(await cli.ok(['app', 'rm', 'site', '--yes'])).toBe(site)
    expect(await refused(3, ['app', 'show', site])).toContain('not found')
  })
})
