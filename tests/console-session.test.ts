/** @module-tag long */
/** Who uses the console: the first start, sessions that begin and end, and other people. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { hasBrowser } from './setup/browser.ts'
import { flawsOf, NO_FLAWS } from './setup/console-flaws.ts'
import { signInByKeyboard, signInLink } from './setup/console-people.ts'
import { sharingCases } from './setup/console-sharing-cases.ts'
import { Console } from './setup/console.ts'
import type { Offshoot } from './setup/offshoot.ts'
import { borrow, giveBack } from './setup/server-pool.ts'

describe.skipIf(!hasBrowser)('a session of the console', () => {
  let offshoot: Offshoot
  let console: Console
  beforeAll(async () => {
    offshoot = await borrow()
    console = await Console.start(offshoot)
  })
  beforeEach(() => {
    console.problems.length = 0
  })
  afterAll(async () => {
    await console?.stop()
    await giveBack()
  })

  const page = () => console.page
  const heading = (name: string, of = page()) => of.getByRole('heading', { name, exact: true })
  const signInForm = (of = page()) => heading('Sign in to Offshoot', of)
  const signIn = async (of = page()) => {
    await signInForm(of).waitFor()
    await signInByKeyboard(of, offshoot.credentials)
  }
  const choose = async (menu: string | RegExp, name: string) => {
    await page().getByRole('button', { name: menu }).click()
    await page().getByRole('menuitem', { name, exact: true }).click()
  }
  /** Ends the session in the service alone, as its expiry does: pages are not told. */
  const endSession = async () => {
    const { base_url: origin } = offshoot.credentials
    const ended = await console.context.request.post(`${origin}/api/auth/sign-out`, { data: {}, headers: { origin } })
    if (!ended.ok()) throw new Error(`the sign-out answered ${ended.status()}`)
  }
  const pathNow = () => page().url().slice(offshoot.credentials.base_url.length)

  it('begins with the printed link, from which one click leads to a terminal', async () => {
    const link = await signInLink(offshoot)
    await page().goto(link)
    await heading('No sandboxes yet').waitFor()
    expect(pathNow()).toBe('/sandboxes')
    expect(await flawsOf(console)).toEqual(NO_FLAWS)
    await page().getByRole('button', { name: 'Make the first sandbox' }).click()
    await page().getByRole('tabpanel').locator('.xterm-rows').filter({ hasText: '#' }).waitFor()
    await console.context.clearCookies()
    await page().goto('about:blank')
    await page().goto(link)
    await page().getByRole('alert').getByText('this link was used or has expired').waitFor()
    expect(pathNow()).toBe('/sign-in')
    expect(await flawsOf(console)).toEqual(NO_FLAWS)
  })

  it('begins with a password, by keyboard, and leads to the page that was asked for', async () => {
    await console.goto('/templates/minimal')
    await signInForm().waitFor()
    await signInByKeyboard(page(), { ...offshoot.credentials, password: 'not the password' })
    await page()
      .getByRole('alert')
      .getByText(/password/i)
      .waitFor()
    expect(await flawsOf(console)).toEqual(NO_FLAWS)
    await console.context.setOffline(true)
    await page().keyboard.press('Enter')
    await page().getByRole('alert').getByText('The service cannot be reached.').waitFor()
    await console.context.setOffline(false)
    await page().getByLabel('Password').fill(offshoot.credentials.password)
    await page().keyboard.press('Enter')
    await heading('minimal').waitFor()
    expect(pathNow()).toBe('/templates/minimal')
  })

  it('ends in all tabs with a sign-out, and begins in all of them with a sign-in', async () => {
    const other = await console.context.newPage()
    await console.goto('/volumes', other)
    await heading('Volumes', other).waitFor()
    await choose(/^Account: /, 'Sign out')
    await Promise.all([signInForm().waitFor(), signInForm(other).waitFor()])
    expect(pathNow()).toBe('/sign-in')
    await signIn()
    await heading('Sandboxes').waitFor()
    await heading('Volumes', other).waitFor()
    expect(console.problems).toEqual([])
    await other.close()
  })

  it('shows in one tab what another one changes', async () => {
    const other = await console.context.newPage()
    await console.goto('/sandboxes', other)
    await console.goto('/sandboxes')
    await page().getByRole('button', { name: 'New sandbox' }).click()
    await page().getByLabel('Name').fill('made in a tab')
    await page().getByRole('dialog').getByLabel('Template').selectOption('minimal')
    await page().getByLabel('Name').press('Enter')
    await other.getByRole('link', { name: 'made in a tab' }).waitFor()
    expect(console.problems).toEqual([])
    await other.close()
  })

  it('that has ended leads to the sign-in and back to the page', async () => {
    await heading('made in a tab').waitFor()
    await endSession()
    // The page may have noticed it already, so there may be no link to click.
    await console.goto('/templates')
    await signIn()
    await heading('Templates').waitFor()
    expect(pathNow()).toBe('/templates')
    expect(console.problems).toEqual([])
  })

  describe('of other people', () => {
    sharingCases(() => ({ console, offshoot }))
  })
})
