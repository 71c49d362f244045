import { FakeGitProvider } from '@offshoot/control/test/fake-git-provider'
import { expect, it } from 'vitest'
import type { Deployed } from './app-fault-cases.ts'
import type { GitHost } from './git-host.ts'
import type { Answer } from './http.ts'
import type { Offshoot } from './offshoot.ts'
import { until } from './until.ts'

const INSTALLATION = 4812
const REPOSITORY = 'people/site'
const PULL = 7

export interface ProviderWorld {
  readonly git: GitHost
  readonly provider: FakeGitProvider
  readonly offshoot: Offshoot
  readonly over: (id: string, of: string) => Promise<Deployed>
  readonly visit: (path: string, url: string) => Promise<Answer>
}

/** The operator's settings. The provider's API is one server, and its repositories are on another. */
export const providerSettings = (provider: FakeGitProvider, git: GitHost) => ({
  github: { ...provider.settings, web_url: git.url },
})

async function connect({ provider, offshoot }: ProviderWorld): Promise<void> {
  provider.installations.set(INSTALLATION, { login: 'people', createdAt: new Date() })
  const { body } = await offshoot.request('GET', '/v1/github/connect')
  const state = new URL(body.url).searchParams.get('state')
  const path = `/v1/github/callback?installation_id=${INSTALLATION}&state=${state}`
  expect((await offshoot.request('GET', path)).status).toBe(302)
}

/** Delivers a webhook, signed as the provider does. */
async function tell({ git, provider, offshoot }: ProviderWorld, action: string, sha: string): Promise<void> {
  const { status } = await provider.deliver(offshoot.credentials.base_url, 'pull_request', {
    action,
    number: PULL,
    pull_request: {
      state: action === 'closed' ? 'closed' : 'open',
      updated_at: new Date().toISOString(),
      head: { ref: 'change', sha, repo: { id: 1 } },
    },
    repository: { id: 1, clone_url: git.urlOf(REPOSITORY), html_url: `${git.url}/${REPOSITORY}` },
    installation: { id: INSTALLATION },
  })
  expect(status).toBe(200)
}

/**
 * Preview apps from the webhook to the visitor, with a private repository that only the installation's tokens can read.
 */
export function appPreviewCases(worldOf: () => ProviderWorld): void {
  it(
    'are served for a pull request of a private repository, at exactly its commit, until it is closed',
    { tags: ['long'] },
    async () => {
      const world = worldOf()
      const { git, provider, offshoot, over, visit } = world
      git.protect(REPOSITORY, (password) => provider.opens(password, INSTALLATION))
      await connect(world)
      const wanted = await git.commit(REPOSITORY, { 'index.html': 'the change' }, { branch: 'change' })
      await git.commit(REPOSITORY, { 'index.html': 'a later one' }, { branch: 'change' })
      const body = { name: 'site', git_url: git.urlOf(REPOSITORY), preview_deploys: true }
      const { body: app } = await offshoot.request('POST', '/v1/apps', { body })

      await tell(world, 'opened', wanted)
      const [preview] = (await offshoot.request('GET', `/v1/apps/${app.id}/previews`)).body
      expect(preview).toMatchObject({ preview_of: app.id, pull_number: PULL })
      const { body: rows } = await offshoot.request('GET', `/v1/apps/${preview.id}/deploys`)
      const deployed = await over(rows[0].id, preview.id)
      expect([deployed.status, deployed.error, deployed.git_commit]).toEqual(['live', null, wanted])
      await until('its page', async () => (await visit('/', preview.url)).text === 'the change')
      expect((await visit('/', app.url)).status).toBe(404)
      const { sandbox_id: sandbox } = deployed
      const token = 'cat /proc/[0-9]*/environ | grep -c "[g]hs_"; grep -rlE "[g]hs_" /srv /root /tmp /run /etc'
      expect(await offshoot.exec(sandbox ?? '', token)).toMatchObject({ stdout: '0\n', exit_code: 1 })

      await tell(world, 'closed', wanted)
      await until('its address to be nobody’s', async () => (await visit('/', preview.url)).status === 404)
      await until(
        'its sandbox to be gone',
        async () => (await offshoot.request('GET', `/v1/sandboxes/${sandbox}`)).status === 404,
      )
      expect((await offshoot.request('GET', `/v1/apps/${app.id}/previews`)).body).toEqual([])
      await offshoot.request('DELETE', `/v1/apps/${app.id}`)
    },
  )
}
