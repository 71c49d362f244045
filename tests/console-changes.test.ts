/** @module-tag long */
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { hasBrowser } from './setup/browser.ts'
import { Console } from './setup/console.ts'
import type { Offshoot } from './setup/offshoot.ts'
import { borrow, giveBack } from './setup/server-pool.ts'

/** Changes that others make by the API appear in open pages, which nobody reloads. */
describe.skipIf(!hasBrowser)('what others change', () => {
  let offshoot: Offshoot
  let console: Console
  let workspace: string
  let jwt: string
  beforeAll(async () => {
    offshoot = await borrow()
    console = await Console.start(offshoot)
    await console.signIn()
    const { base_url } = offshoot.credentials
    const { token } = await (await console.context.request.get(`${base_url}/api/auth/token`)).json()
    jwt = token
    workspace = (await ask('GET', '/v1/me')).org.id
  })
  beforeEach(() => {
    console.problems.length = 0
  })
  afterAll(async () => {
    await console?.stop()
    await giveBack()
  })

  /** As another program of the same user. */
  async function ask(method: string, path: string, body?: unknown) {
    const response = await fetch(offshoot.credentials.base_url + path, {
      method,
      headers: { authorization: `Bearer ${jwt}`, ...(body !== undefined && { 'content-type': 'application/json' }) },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`)
    return text === '' ? null : JSON.parse(text)
  }

  /** A mark in the page's memory, which a reload would remove. */
  async function open(path: string, page: Page = console.page): Promise<void> {
    const connected = page.waitForResponse(/\/v1\/changes/)
    await console.goto(path, page)
    await connected
    await page.evaluate('globalThis.isSamePage = true')
  }
  const isSamePage = (page: Page = console.page) => page.evaluate('globalThis.isSamePage === true')

  it('appears: sandboxes, with their states and ends', async () => {
    const { page } = console
    await open('/sandboxes')
    await page.getByRole('heading', { name: 'No sandboxes yet' }).waitFor()
    const { id } = await offshoot.create({ template: 'minimal', metadata: { name: 'first' } })
    await page.getByRole('link', { name: 'first' }).waitFor()
    await ask('POST', `/v1/sandboxes/${id}/hibernate`)
    await page.getByRole('row').getByText('hibernated').waitFor()
    await offshoot.delete(id)
    await page.getByRole('heading', { name: 'No sandboxes yet' }).waitFor()
    expect(await isSamePage()).toBe(true)
  })

  it('appears: snapshots and named ports of the sandbox that is shown', async () => {
    const { page } = console
    const { id } = await offshoot.create({ template: 'minimal' })
    await open(`/sandboxes/${id}/overview`)
    await page.getByRole('heading', { name: 'Snapshots' }).waitFor()
    const snapshot = await ask('POST', `/v1/sandboxes/${id}/snapshots`, { name: 'before-lunch' })
    await page.getByText('before-lunch').waitFor()
    await ask('DELETE', `/v1/snapshots/${snapshot.id}`)
    await page.getByText('before-lunch').waitFor({ state: 'detached' })
    await open(`/sandboxes/${id}/ports`)
    await ask('POST', `/v1/sandboxes/${id}/ports`, { port: 4321, label: 'the lunch menu' })
    await page.getByText('the lunch menu').waitFor()
    await offshoot.delete(id)
    expect(await isSamePage()).toBe(true)
  })

  it('appears: volumes, apps, domains, webhooks, keys and invitations', async () => {
    const { page } = console
    await open('/volumes')
    await ask('POST', '/v1/volumes', { name: 'shared-data', size_mb: 64 })
    await page.getByText('shared-data').waitFor()
    await ask('DELETE', '/v1/volumes/shared-data')
    await page.getByText('shared-data').waitFor({ state: 'detached' })

    await open('/apps')
    const app = await ask('POST', '/v1/apps', { name: 'lunch', git_url: 'https://git.example.com/x.git' })
    await page.getByRole('link', { name: 'lunch', exact: true }).waitFor()
    await open(`/apps/${app.id}/domains`)
    await ask('POST', `/v1/apps/${app.id}/domains`, { domain: 'lunch.example.com' })
    await page.getByText('lunch.example.com').first().waitFor()
    await open('/apps')
    await page.getByRole('link', { name: 'lunch', exact: true }).waitFor()
    await ask('DELETE', `/v1/apps/${app.id}`)
    await page.getByRole('link', { name: 'lunch', exact: true }).waitFor({ state: 'detached' })

    await open('/webhooks')
    const hook = await ask('POST', '/v1/webhooks', { url: 'https://ci.example.com/hook' })
    await page.getByText('https://ci.example.com/hook').first().waitFor()
    await ask('DELETE', `/v1/webhooks/${hook.id}`)
    await page.getByText('https://ci.example.com/hook').first().waitFor({ state: 'detached' })

    await open('/keys')
    const key = await ask('POST', '/v1/me/tokens', { name: 'of the build server' })
    await page.getByText('of the build server').waitFor()
    await ask('DELETE', `/v1/me/tokens/${key.prefix}`)
    await page.getByText('of the build server').waitFor({ state: 'detached' })

    await open('/members')
    const invitation = await ask('POST', `/v1/orgs/${workspace}/members`, { email: 'dora@example.com' })
    await page.getByText('dora@example.com').first().waitFor()
    await ask('DELETE', `/v1/orgs/${workspace}/invites/${invitation.id}`)
    await page.getByText('dora@example.com').first().waitFor({ state: 'detached' })
    expect(await isSamePage()).toBe(true)
    expect(console.problems).toEqual([])
  })

  it('appears in every tab', async () => {
    const { page, context } = console
    const other = await context.newPage()
    await open('/sandboxes')
    await open('/sandboxes', other)
    const { id } = await offshoot.create({ template: 'minimal', metadata: { name: 'in both' } })
    for (const each of [page, other]) await each.getByRole('link', { name: 'in both' }).waitFor()
    await offshoot.delete(id)
    for (const each of [page, other]) await each.getByRole('heading', { name: 'No sandboxes yet' }).waitFor()
    expect([await isSamePage(), await isSamePage(other)]).toEqual([true, true])
    await other.close()
  })

  it('appears after the service was away, without a reload', async () => {
    const { page } = console
    await open('/volumes')
    // The page cannot reach the service while it changes.
    await console.context.setOffline(true)
    await offshoot.killService('control')
    await ask('POST', '/v1/volumes', { name: 'made-meanwhile', size_mb: 64 })
    await page.getByRole('status').getByText('The connection is lost').waitFor()
    await console.context.setOffline(false)
    await page.getByText('made-meanwhile').waitFor()
    await page.getByRole('status').getByText('The connection is lost').waitFor({ state: 'detached' })
    await ask('DELETE', '/v1/volumes/made-meanwhile')
    await page.getByText('made-meanwhile').waitFor({ state: 'detached' })
    expect(await isSamePage()).toBe(true)
  })
})
