import { symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import type { GitHost } from './git-host.ts'
import type { Answer } from './http.ts'
import type { Offshoot } from './offshoot.ts'
import { until } from './until.ts'

/** Milliseconds for a step of a deploy on an emulated CPU of a busy machine. */
const STEP_MS = 120_000
const LFS_POINTER = 'version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n'
/** A fork bomb. */
const FORKS_FOR_EVER = 'b() { b | b & }; b; sleep 3600'
/** Allocates all blocks without writing them, so that no other file can grow. */
const FILLS_THE_DISK = 'fallocate -l "$(stat -f -c "%f * %S" / | xargs expr)" /fill && head -c 64M /dev/zero > /more'

/** A repository with its site in a subfolder. */
const siteIn = (folder: string) => ({
  'offshoot.json': JSON.stringify({ framework: 'static', output_directory: folder }),
})
const linksOut = { before: (folder: string) => symlink('/etc', join(folder, 'out')) }

export interface Deployed {
  readonly id: string
  readonly status: string
  readonly error: string | null
  readonly git_commit: string | null
  readonly sandbox_id: string | null
  readonly build_logs: string
}

/** An app that serves version `one`. */
export interface ServedApp {
  readonly git: GitHost
  readonly offshoot: Offshoot
  readonly app: { readonly id: string; readonly url: string }
  readonly deploy: (body?: Record<string, unknown>, of?: string) => Promise<Deployed>
  readonly over: (id: string, of?: string) => Promise<Deployed>
  readonly visit: (path?: string, url?: string) => Promise<Answer>
  readonly version: () => Promise<string>
}

/**
 * Failed deploys that need real guests. `packages/control/src/kinds/apps/deploying/deploy-faults.test.ts` covers all
 * steps without them.
 */
export function appFaultCases(served: () => ServedApp): void {
  const sandboxes = async () => (await served().offshoot.request('GET', '/v1/sandboxes')).body
  const change = (body: Record<string, unknown>) =>
    served().offshoot.request('PATCH', `/v1/apps/${served().app.id}`, { body })

  /** Starts a deploy whose build hangs at a step, in its sandbox. */
  async function standing(step: string): Promise<Deployed> {
    const { offshoot, app } = served()
    const path = `/v1/apps/${app.id}/deploys`
    const { body } = await offshoot.request('POST', path)
    const isThere = async () => {
      const { body: now } = await offshoot.request('GET', `${path}/${body.id}`)
      if (now.error !== null) throw new Error(now.error)
      return now.build_logs.includes(step) && now
    }
    return until(`the step ${step}`, isThere, STEP_MS)
  }

  const isGone = (sandbox: string | null) =>
    until('its sandbox to be gone', async () => (await sandboxes()).every(({ id }: { id: string }) => id !== sandbox))

  async function killMachine(sandbox: string | null): Promise<void> {
    const machine = (await served().offshoot.virtualMachines()).find(({ sandboxId }) => sandboxId === sandbox)
    if (machine === undefined) throw new Error(`no machine of ${sandbox}`)
    process.kill(machine.pid, 'SIGKILL')
  }

  it(
    'of hostile repositories, and with builds that go wrong, fail with the reason and leave nothing',
    { tags: ['long'] },
    async () => {
      const { git, offshoot, app, deploy, visit, version } = served()
      await git.commit('linked', { 'index.html': '' }, linksOut)
      await git.commit('elsewhere', siteIn('out'), linksOut)
      await git.commit('nowhere', siteIn('nowhere'))
      await git.commit('bare', { 'README.md': '' })
      await git.commit('page', { 'index.html': 'page' })
      const moved = new Map([
        ['/moved.git', 'file:///etc/passwd'],
        ['/moved-inside.git', 'http://169.254.169.254/x.git'],
        ['/moved-to-git.git', 'git://127.0.0.1/x.git'],
      ])
      git.onRequest = ({ url = '' }, response) => {
        const location = moved.get(/^\/[^/]+/.exec(url)?.[0] ?? '')
        if (location !== undefined) response.writeHead(302, { location: `${location}/info/refs` }).end()
        return location !== undefined
      }
      const page = { git_url: git.urlOf('page') }
      const faults = [
        ['an address inside', { git_url: 'http://169.254.169.254/x.git' }, {}, /^clone failed: .*169\.254\.169\.254/],
        ['a redirect to a file', { git_url: git.urlOf('moved') }, {}, /^clone failed: /],
        ['a redirect inside', { git_url: git.urlOf('moved-inside') }, {}, /^clone failed: .*169\.254\.169\.254/],
        ['a redirect to git', { git_url: git.urlOf('moved-to-git') }, {}, /^clone failed: /],
        ['what is not there', { git_url: git.urlOf('nothing') }, {}, /^clone failed: .*not found/],
        ['an unknown branch', page, { git_ref: 'nowhere' }, /^clone failed: .*nowhere/],
        [
          'a folder that is not there',
          { ...page, root_directory: 'x/y' },
          {},
          /^root_directory x\/y is not in the repo/,
        ],
        ['a link out', { git_url: git.urlOf('linked'), root_directory: 'out' }, {}, /^root_directory out leads out/],
        ['no framework', { git_url: git.urlOf('bare') }, {}, /^no framework was detected/],
        ['a full disk', { ...page, build_command: FILLS_THE_DISK }, {}, /^build failed with code 1: .*No space left/],
        [
          'an app that ends',
          { ...page, start_command: 'echo why >&2; exit 7' },
          {},
          /^the app ended with code 7 .*: why$/,
        ],
        [
          'a site that is not there',
          { git_url: git.urlOf('nowhere') },
          {},
          /^the app ended with code 1 .*: offshoot: there is no folder/,
        ],
        [
          'a site elsewhere',
          { git_url: git.urlOf('elsewhere') },
          {},
          /^the app ended with code 1 .*: offshoot: .* leads out of the repository$/,
        ],
      ] as const
      const ended = await Promise.all(
        faults.map(async ([name, body, ref, error]) => {
          const { body: made } = await offshoot.request('POST', '/v1/apps', { body: { name, ...body } })
          const failed = await deploy(ref, made.id)
          const { body: after } = await offshoot.request('GET', `/v1/apps/${made.id}`)
          const { status } = await visit('/', made.url)
          await offshoot.request('DELETE', `/v1/apps/${made.id}`)
          return [name, failed.status, error.test(failed.error ?? '') || failed.error, after.status, status]
        }),
      )
      expect(ended).toEqual(faults.map(([name]) => [name, 'failed', true, 'error', 404]))
      await until('their sandboxes to be gone', async () =>
        (await sandboxes()).every(({ metadata }: { metadata: { app_id: string } }) => metadata.app_id === app.id),
      )
      expect(await version()).toBe('one')
    },
  )

  it(
    'take of a repository the one commit, and no submodules, large files, or links out of the site',
    { tags: ['long'] },
    async () => {
      const { git, offshoot, deploy, visit } = served()
      const files = {
        'index.html': 'page',
        'large.txt': LFS_POINTER,
        '.gitattributes': '*.txt filter=lfs diff=lfs merge=lfs -text\n',
        '.gitmodules': '[submodule "inner"]\n\tpath = inner\n\turl = file:///etc\n\tupdate = !touch /hacked\n',
      }
      for (let number = 0; number < 3; number++) await git.commit('odd', { ...files, number: String(number) })
      await git.commit('odd', files, { before: (folder) => symlink('/etc/passwd', join(folder, 'passwd')) })
      const body = {
        name: 'odd',
        git_url: git.urlOf('odd'),
        build_command: 'git log --oneline | wc -l; test ! -e /hacked',
      }
      const { body: app } = await offshoot.request('POST', '/v1/apps', { body: { ...body } })
      const deployed = await deploy({}, app.id)
      expect([deployed.status, deployed.error]).toEqual(['live', null])
      expect(deployed.build_logs).toContain('submodules are not fetched\n')
      expect(deployed.build_logs).toContain('\n1\n')
      await until('the site', async () => (await visit('/', app.url)).text === 'page')
      expect((await visit('/large.txt', app.url)).text).toBe(LFS_POINTER)
      for (const path of ['/passwd', '/.git/config', '/.gitmodules'])
        expect((await visit(path, app.url)).status).toBe(404)
      await offshoot.request('DELETE', `/v1/apps/${app.id}`)
    },
  )

  it(
    'serve on beside a build that forks for ever, which is ended when its owner says so',
    { tags: ['long'] },
    async () => {
      const { offshoot, app, version, over } = served()
      await change({ build_command: FORKS_FOR_EVER })
      const bomb = await standing('==> build')
      const others = new Set<string>()
      for (let asked = 0; asked < 10; asked++) others.add(await version())
      expect([...others]).toEqual(['one'])
      expect((await offshoot.request('POST', `/v1/apps/${app.id}/deploys/${bomb.id}/cancel`)).status).toBe(202)
      expect(await over(bomb.id)).toMatchObject({ status: 'failed', error: 'cancelled', sandbox_id: null })
      await isGone(bomb.sandbox_id)
      await change({ build_command: 'echo {} > built.json' })
    },
  )

  it('fail when their VM or their agent is killed, and leave the version before', { tags: ['long'] }, async () => {
    const { offshoot, version, visit, over } = served()
    await change({ install_command: 'sleep 3600' })
    const unlucky = await standing('==> install')
    await killMachine(unlucky.sandbox_id)
    const first = await over(unlucky.id)
    expect([first.status, first.sandbox_id]).toEqual(['failed', null])
    expect(first.error).not.toContain('internal')

    const orphaned = await standing('==> install')
    await offshoot.killService('agent')
    expect(await over(orphaned.id)).toMatchObject({
      status: 'failed',
      error: 'the host of its sandbox went away',
      sandbox_id: null,
    })
    for (const { sandbox_id: sandbox } of [unlucky, orphaned]) await isGone(sandbox)
    await until('the version before', async () => (await visit()).status === 200 && (await version()) === 'one')
    await change({ install_command: '' })
  })

  it('are built again when the VM of what serves is killed', { tags: ['long'] }, async () => {
    const { offshoot, app, visit, version } = served()
    const { body } = await offshoot.request('GET', `/v1/apps/${app.id}/deploys`)
    const { sandbox_id: sandbox, git_commit: commit } = body.find(({ status }: Deployed) => status === 'live')
    await killMachine(sandbox)
    await until('the page of an app that is away', async () => (await visit()).status === 503, STEP_MS)
    await until('the same version', async () => (await visit()).status === 200 && (await version()) === 'one', STEP_MS)
    const { body: after } = await offshoot.request('GET', `/v1/apps/${app.id}/deploys`)
    expect(after[0]).toMatchObject({ status: 'live', git_commit: commit })
  })
}
