import { expect, it } from 'vitest'
import { flawsOf, NO_FLAWS } from './console-flaws.ts'
import { LONG_MS } from './console-template-cases.ts'
import type { ConsoleWorld } from './console-world.ts'
import type { DnsServer } from '@offshoot/control/test/dns-server'
import type { GitHost } from './git-host.ts'
import { call } from './http.ts'
import { nodeApp } from './node-app.ts'
import { until } from './until.ts'

export interface AppWorld extends ConsoleWorld {
  readonly git: GitHost
  /** The name server that the service asks for records of domains. */
  readonly dns: DnsServer
  /** The commit of version `one`. */
  readonly first: string
}

interface App {
  readonly id: string
  readonly url: string
}

/** The pages of apps. */
export function consoleAppCases(world: () => AppWorld): void {
  const app = async () => {
    const [found] = (await world().offshoot.request('GET', '/v1/apps')).body as App[]
    return found ?? { id: '', url: '' }
  }
  const visit = async (path: string) => {
    const { host } = new URL((await app()).url)
    return call('GET', world().offshoot.credentials.edge_url + path, { headers: { host } })
  }
  const version = async () => JSON.parse((await visit('/')).text).version as string
  /** The state of the deployment whose page is open. */
  const state = (name: string) => {
    const { page } = world().console
    return page.getByRole('link', { name: 'All deployments' }).locator('..').getByText(name, { exact: true })
  }

  it('makes an app from a repository, and shows the log of its first build', async () => {
    const { console, git, first } = world()
    const { page } = console
    await console.goto('/apps')
    await page.getByRole('heading', { name: 'No apps yet' }).waitFor()
    expect(await flawsOf(console)).toEqual(NO_FLAWS)
    await page.getByRole('button', { name: 'New app' }).first().click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Address of the repository').fill('ftp://example.com/site')
    await dialog.getByRole('button', { name: 'Create and deploy' }).click()
    await dialog
      .getByRole('alert')
      .getByText(/git_url/)
      .waitFor()
    expect(await flawsOf(console)).toEqual(NO_FLAWS)
    await dialog.getByLabel('Address of the repository').fill(git.urlOf('people/site'))
    expect(await dialog.getByLabel('Name').getAttribute('placeholder')).toBe('site')
    await dialog.getByLabel('Environment variables').fill('SECRET=known inside')
    await dialog.getByRole('button', { name: 'Create and deploy' }).click()
    await page.getByRole('heading', { name: 'site', level: 1 }).waitFor()
    await page.getByRole('table', { name: 'Deployments' }).getByRole('link').first().click()
    await page.getByRole('log', { name: 'Build log' }).getByText('building one').first().waitFor({ timeout: LONG_MS })
    await page.getByText(/lines, complete/).waitFor({ timeout: LONG_MS })
    await state('live').waitFor()
    expect(await flawsOf(console)).toEqual(NO_FLAWS)
    expect(await version()).toBe('one')
    await page.getByRole('link', { name: 'All deployments' }).click()
    await page.getByRole('region', { name: 'Serves now' }).getByText(first.slice(0, 8)).waitFor()
    // There is no version to which it could go back.
    expect(await page.getByRole('button', { name: 'Roll back' }).isEnabled()).toBe(false)
    expect(await flawsOf(console)).toEqual(NO_FLAWS)
  })

  it('changes settings, which the next deploy takes', async () => {
    const { console } = world()
    const { page } = console
    await page.getByRole('link', { name: 'Settings' }).last().click()
    await page.getByRole('list', { name: 'Variables' }).getByText('SECRET').waitFor()
    expect(await page.getByText('known inside').count()).toBe(0)
    await page.getByLabel('Port', { exact: true }).fill('0')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('alert').getByText(/port/).waitFor()
    expect(await flawsOf(console)).toEqual(NO_FLAWS)
    await page.getByLabel('Port', { exact: true }).fill('3000')
    // npm takes seconds of an emulated CPU each time.
    await page.getByLabel('Build command').fill('echo {} > built.json')
    await page.getByLabel('Start command').fill('node server.js')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Saved. The next deploy takes it.').waitFor()
    expect(console.problems).toEqual([])
  })

  it('deploys another version, and goes back to the one before', async () => {
    const { console, git, first } = world()
    const { page } = console
    const second = await git.commit('people/site', nodeApp('two'))
    await page.getByRole('button', { name: 'Deploy', exact: true }).click()
    await page.getByRole('log', { name: 'Build log' }).waitFor({ timeout: LONG_MS })
    await state('live').waitFor({ timeout: LONG_MS })
    expect(await version()).toBe('two')
    await page.getByRole('link', { name: 'All deployments' }).click()
    const serving = page.getByRole('region', { name: 'Serves now' })
    await serving.getByText(second.slice(0, 8)).waitFor()
    await page
      .getByRole('row')
      .filter({ hasText: second.slice(0, 8) })
      .getByText('serves')
      .waitFor()
    const old = page.getByRole('row').filter({ hasText: first.slice(0, 8) })
    await old.getByText('superseded').waitFor()
    expect(await page.getByRole('button', { name: 'Roll back', exact: true }).isEnabled()).toBe(true)
    expect(await flawsOf(console)).toEqual(NO_FLAWS)
    await old.getByRole('button', { name: 'Roll back to it' }).click()
    await state('live').waitFor({ timeout: LONG_MS })
    expect(await version()).toBe('one')
    await page.getByRole('link', { name: 'All deployments' }).click()
    await serving.getByText(first.slice(0, 8)).waitFor()
  })

  it('offers no rollback to a version that was never live, and cancels a deployment', async () => {
    const { console, offshoot } = world()
    const { page } = console
    const path = `/v1/apps/${(await app()).id}`
    await offshoot.request('PATCH', path, { body: { install_command: 'sleep 600' } })
    const { body: building } = await offshoot.request('POST', `${path}/deploys`)
    await until('the build', async () => {
      const { body } = await offshoot.request('GET', `${path}/deploys/${building.id}`)
      return body.build_logs.includes('==> install')
    })
    for (let n = 0; n < 2; n++) await offshoot.request('POST', `${path}/deploys`)
    const row = (text: string) => page.getByRole('row').filter({ hasText: text })
    const shows = (text: string, count: number) =>
      until(`${count} rows with ${text}`, async () => {
        await page.reload()
        await page.getByRole('table', { name: 'Deployments' }).waitFor()
        return (await row(text).count()) === count
      })
    await shows('a newer deploy took its place', 1)
    expect(await row('a newer deploy took its place').getByRole('button', { name: 'Roll back to it' }).count()).toBe(0)
    expect(await flawsOf(console)).toEqual(NO_FLAWS)
    for (const count of [1, 2]) {
      await page.getByRole('button', { name: 'Cancel' }).first().click()
      await page.getByText('The deployment is cancelled').waitFor()
      await shows('cancelled', count)
    }
    expect(await version()).toBe('one')
    expect(console.problems).toEqual([])
  })

  it('shows why a deployment failed, and deploys another branch', async () => {
    const { console } = world()
    const { page } = console
    await page.getByRole('button', { name: 'More actions' }).click()
    await page.getByRole('menuitem', { name: 'Deploy a branch or a commit' }).click()
    await page.getByRole('dialog').getByLabel('Branch, tag or commit').fill('nothing-here')
    await page.getByRole('dialog').getByRole('button', { name: 'Deploy' }).click()
    await page.getByRole('main').getByRole('alert').waitFor({ timeout: LONG_MS })
    await state('failed').waitFor()
    expect(await flawsOf(console)).toEqual(NO_FLAWS)
  })

  it('follows what the app writes', async () => {
    const { console } = world()
    const { page } = console
    await page.getByRole('link', { name: 'Runtime log' }).click()
    await visit('/from-the-journey')
    await page.getByRole('log', { name: 'Runtime log' }).getByText('asked for /from-the-journey').first().waitFor()
    expect(await flawsOf(console)).toEqual(NO_FLAWS)
  })

  it('adds a domain, and shows the DNS record that proves its owner', async () => {
    const { console, dns } = world()
    const { page } = console
    await page.getByRole('link', { name: 'Domains' }).click()
    await page.getByText('No domains yet.').waitFor()
    await page.getByLabel('Domain').fill('no domain')
    await page.getByRole('button', { name: 'Add', exact: true }).click()
    await page.getByRole('main').getByRole('alert').waitFor()
    expect(await flawsOf(console)).toEqual(NO_FLAWS)
    await page.getByLabel('Domain').fill('www.site.example')
    await page.getByRole('button', { name: 'Add', exact: true }).click()
    const domain = page.getByRole('region', { name: 'www.site.example' })
    await domain.getByText('pending').waitFor()
    await domain
      .getByRole('region', { name: 'Name of the record' })
      .getByText(/\.www\.site\.example$/)
      .waitFor()
    await domain
      .getByRole('region', { name: 'Value of the record' })
      .getByText(/^offshoot-app=/)
      .waitFor()
    expect(await page.getByRole('main').getByRole('alert').count()).toBe(0)
    expect(await flawsOf(console)).toEqual(NO_FLAWS)
    await domain.getByRole('button', { name: 'Look again' }).click()
    await domain.getByRole('button', { name: 'Look again', disabled: false }).waitFor()
    await domain.getByText('pending').waitFor()
    const textOf = async (name: string) => (await domain.getByRole('region', { name }).textContent()) ?? ''
    dns.texts.set(await textOf('Name of the record'), [await textOf('Value of the record')])
    await domain.getByRole('button', { name: 'Look again' }).click()
    await domain.getByText('verified', { exact: true }).waitFor()
    expect(await flawsOf(console)).toEqual(NO_FLAWS)
    await domain.getByRole('button', { name: 'Remove' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click()
    await page.getByText('No domains yet.').waitFor()
  })

  it('makes a link that opens the app when it is private', async () => {
    const { console } = world()
    const { page } = console
    await page.getByRole('link', { name: 'Settings' }).last().click()
    await page.getByLabel('Who may open it').selectOption('private')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('main').getByText('private', { exact: true }).waitFor()
    expect((await visit('/')).status).not.toBe(200)
    await page.getByRole('link', { name: 'Previews' }).click()
    await page.getByText('No links.').waitFor()
    await page.getByLabel('For whom').fill('a friend')
    await page.getByRole('button', { name: 'Make a link' }).click()
    const url = await page.getByRole('region', { name: 'The link, which is shown only now' }).textContent()
    await page.getByRole('row', { name: /a friend/ }).waitFor()
    expect(await flawsOf(console)).toEqual(NO_FLAWS)
    const friend = await console.context.newPage()
    await friend.goto(url ?? '')
    await friend.getByText('"version":"one"').waitFor()
    await friend.close()
    await page.getByRole('button', { name: 'Revoke this link' }).click()
    await page.getByText('No links.').waitFor()
  })

  it('deletes an app once its name was typed', async () => {
    const { console } = world()
    const { page } = console
    await console.goto('/apps')
    await page.getByRole('row', { name: /site/ }).waitFor()
    expect(await flawsOf(console)).toEqual(NO_FLAWS)
    await page.getByRole('link', { name: 'site', exact: true }).click()
    await page.getByRole('button', { name: 'More actions' }).click()
    await page.getByRole('menuitem', { name: 'Delete' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Type its name to confirm').fill('site')
    await dialog.getByRole('button', { name: 'Delete the app' }).click()
    await page.getByRole('heading', { name: 'No apps yet' }).waitFor()
    await console.goto('/apps/00000000-0000-4000-8000-000000000000')
    await page.getByRole('alert').getByText('Not found').waitFor()
    expect(await flawsOf(console)).toEqual(NO_FLAWS)
  })
}
