import type { FakeGitProvider } from '@offshoot/control/test/fake-git-provider'
import { ConflictError, DeploymentFailedError, NotFoundError, type Offshoot as Client } from '@offshoot/sdk'
import { expect, it } from 'vitest'
import type { GitHost } from './git-host.ts'
import { call } from './http.ts'
import { nodeApp } from './node-app.ts'
import type { Offshoot } from './offshoot.ts'
import { until } from './until.ts'

interface World {
  readonly client: Client
  readonly git: GitHost
  readonly provider: FakeGitProvider
  readonly offshoot: Offshoot
}

/** The SDK's functions for apps, with deploys in real guests. */
export function sdkAppCases(worldOf: () => World): void {
  it('are made, changed, given a domain and links, and deleted', async () => {
    const { client, git } = worldOf()
    const app = await client.apps.create({ name: 'plain', gitUrl: git.urlOf('site'), env: { snake_case: 'kept' } })
    expect(app.info).toMatchObject({ status: 'created', env: { snake_case: '***' } })
    await expect(client.apps.create({ name: 'plain', gitUrl: git.urlOf('site') })).rejects.toBeInstanceOf(ConflictError)
    await expect(app.rollback()).rejects.toBeInstanceOf(ConflictError)
    expect((await app.update({ maxInstances: 2, visibility: 'private' })).info).toMatchObject({
      maxInstances: 2,
      visibility: 'private',
    })
    const found = await client.apps.get(app.id)
    expect(await found.refresh()).toEqual(app.info)
    expect((await client.apps.list({ name: 'plain' }).all()).map(({ id }) => id)).toEqual([app.id])
    const domain = await app.domains.add('shop.example.com')
    expect(domain).toMatchObject({ domain: 'shop.example.com', status: 'pending', record: { type: 'TXT' } })
    expect((await app.domains.list().all()).map(({ record }) => record)).toEqual([domain.record])
    await app.domains.deleteCertificate('shop.example.com')
    await app.domains.delete('shop.example.com')
    await app.domains.delete('shop.example.com')
    expect(await app.domains.list().first()).toBeNull()
    const link = await app.links.create({ expiresInSeconds: 3600 })
    expect(link.url).toContain(link.token)
    expect((await app.links.list().all()).map(({ id }) => id)).toEqual([link.id])
    await app.links.delete(link.id)
    expect(await app.links.list().first()).toBeNull()
    expect(await app.previews().all()).toEqual([])
    expect(await app.deployments().all()).toEqual([])
    await app[Symbol.asyncDispose]()
    await client.apps.delete(app.id)
    await expect(found.refresh()).rejects.toBeInstanceOf(NotFoundError)
  })

  it('are deployed with live progress, followed at run time, rolled back and cancelled', async () => {
    const { client, git, offshoot } = worldOf()
    const app = await client.apps.create({ name: 'site', gitUrl: git.urlOf('site'), env: { SECRET: 'known' } })
    const first = await app.deploy()
    const lines: string[] = []
    for await (const line of first.followLogs()) lines.push(line)
    expect(await first.wait()).toMatchObject({ id: first.id, status: 'live', error: null })
    expect(lines).toContain('building one')
    expect((await first.logs()).split('\n')).toEqual(expect.arrayContaining(lines.filter((line) => line !== '')))

    const { host } = new URL(app.info.url)
    const visit = async (path: string) =>
      call('GET', offshoot.credentials.edge_url + path, { headers: { host } }).then(({ text }) => text)
    const said: string[] = []
    const following = (async () => {
      for await (const line of app.followLogs()) {
        said.push(line)
        if (line.includes('/last')) break
      }
    })()
    await visit('/first')
    await until('a line', () => said.some((line) => line.includes('/first')))
    // The stream breaks and continues.
    await offshoot.killService('control')
    await visit('/last')
    await following
    expect(said.filter((line) => line.includes('/first'))).toHaveLength(1)
    expect(await app.logs()).toContain('asked for /last')

    const commit = await git.commit('site', nodeApp('two'))
    const second = await app.deploy({ gitRef: commit })
    expect(await second.wait()).toMatchObject({ status: 'live', gitCommit: commit })
    expect((await app.refresh()).activeDeploymentId).toBe(second.id)
    const back = await app.rollback()
    expect(await back.wait()).toMatchObject({ status: 'live' })
    expect(JSON.parse(await visit('/')).version).toBe('one')
    expect((await app.deployments().all()).map(({ id }) => id)).toEqual([back.id, second.id, first.id])
    expect((await app.deployments({ gitCommit: commit }).all()).map(({ info }) => info.status)).toEqual(['superseded'])
    expect((await app.getDeployment(first.id)).info).toEqual(await first.refresh())
    await expect(first.cancel()).rejects.toBeInstanceOf(ConflictError)

    const wrong = await app.deploy({ gitRef: 'no-such-branch' })
    const failure: unknown = await wrong.wait().catch((error: unknown) => error)
    expect(failure).toBeInstanceOf(DeploymentFailedError)
    expect((failure as DeploymentFailedError).deployment.error).toContain('no-such-branch')
    const unwanted = await (await app.deploy()).cancel()
    await expect(unwanted.wait()).rejects.toBeInstanceOf(DeploymentFailedError)
    await app.delete()
  })
}
