/** @module-tag long */
/** The console when the network is slow, when control restarts, and when the session ended before a change. */
import type { BrowserContext, Page, Route } from 'playwright-core'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { hasBrowser } from './setup/browser.ts'
import { flawsOf, NO_FLAWS } from './setup/console-flaws.ts'
import { signInByKeyboard } from './setup/console-people.ts'
import { consoleWorld } from './setup/console-world.ts'

/** A bad mobile connection: 400 ms of latency, 100 KiB per second. */
const SLOW = { offline: false, latency: 400, downloadThroughput: 100 * 1024, uploadThroughput: 100 * 1024 }

describe.skipIf(!hasBrowser)('the console under bad conditions', () => {
  const world = consoleWorld()
  let context: BrowserContext
  let page: Page
  beforeEach(async () => {
    const { console } = world()
    context = await console.newContext()
    await console.signIn(context)
    page = await context.newPage()
  })
  afterEach(() => context?.close())

  const sandboxLink = (name: string) => page.getByRole('link', { name, exact: true })

  it('shows that it loads on a slow network, and then the page', async () => {
    const { console, offshoot } = world()
    const { id } = await offshoot.create({ template: 'minimal', metadata: { name: 'far-away' } })
    const devtools = await context.newCDPSession(page)
    await devtools.send('Network.enable')
    await devtools.send('Network.setCacheDisabled', { cacheDisabled: true })
    await devtools.send('Network.emulateNetworkConditions', SLOW)
    const opened = console.goto('/sandboxes', page)
    await page.getByRole('status', { name: 'Loading' }).waitFor()
    await opened
    await sandboxLink('far-away').waitFor()
    await page.getByRole('status', { name: 'Loading' }).waitFor({ state: 'detached' })
    expect(await flawsOf(console, page)).toEqual(NO_FLAWS)
    await offshoot.delete(id)
  })

  it('shows in an open list what changed around a restart of control', async () => {
    const { console, offshoot } = world()
    const { id: old } = await offshoot.create({ template: 'minimal', metadata: { name: 'made-before' } })
    const connected = page.waitForResponse(/\/v1\/changes/)
    await console.goto('/sandboxes', page)
    await sandboxLink('made-before').waitFor()
    await connected
    await page.evaluate('globalThis.isSamePage = true')
    await offshoot.killService('control')
    const { id } = await offshoot.create({ template: 'minimal', metadata: { name: 'made-after' } })
    await offshoot.delete(old)
    await sandboxLink('made-after').waitFor()
    await sandboxLink('made-before').waitFor({ state: 'detached' })
    await page.getByText('The connection is lost').waitFor({ state: 'detached' })
    expect(await page.getByRole('alert').allTextContents()).toEqual([])
    expect(await page.evaluate('globalThis.isSamePage')).toBe(true)
    expect(await flawsOf(console, page)).toEqual(NO_FLAWS)
    await offshoot.delete(id)
  })

  it('asks the user to sign in when the session ended before a change, which then works', async () => {
    const { console, offshoot } = world()
    const { base_url: origin } = offshoot.credentials
    const { id } = await offshoot.create({ template: 'minimal', metadata: { name: 'worked-on' } })
    await console.goto(`/sandboxes/${id}/overview`, page)
    const chooseAction = async (name: string) => {
      await page.getByRole('button', { name: 'More actions' }).click()
      await page.getByRole('menuitem', { name, exact: true }).click()
    }
    await page.getByRole('heading', { name: 'worked-on' }).waitFor()
    // The session ends while the change is on its way, so the page cannot know it earlier.
    const endSession = async (change: Route) => {
      await context.request.post(`${origin}/api/auth/sign-out`, { data: {}, headers: { origin } })
      await change.continue()
    }
    await page.route('**/v1/sandboxes/*/pause', endSession, { times: 1 })
    await chooseAction('Pause')
    await page.getByRole('heading', { name: 'Sign in to Offshoot' }).waitFor()
    await page.getByRole('alert').getByText('Sign in, and do it again.').waitFor()
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme })
      expect(await flawsOf(console, page)).toEqual(NO_FLAWS)
    }
    await signInByKeyboard(page, offshoot.credentials)
    await page.getByRole('heading', { name: 'worked-on' }).waitFor()
    await chooseAction('Pause')
    await page.getByText('Paused', { exact: true }).waitFor()
    const { body } = await offshoot.request('GET', `/v1/sandboxes/${id}`)
    expect(body.status).toBe('paused')
    expect(console.problems).toEqual([])
    await offshoot.delete(id)
  })
})
