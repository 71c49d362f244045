import type { BrowserContext, Page } from 'playwright-core'
import { afterAll, expect, it } from 'vitest'
import { flawsOf, NO_FLAWS } from './console-flaws.ts'
import type { ConsoleWorld } from './console-world.ts'
import { mailed } from './mailed.ts'

const BOB = { name: 'Bob <b>Builder</b>', email: 'bob@example.com', password: 'a horse that nobody guesses' }

/** Members, and the pages of people who are not signed in. */
export function consoleMemberCases(world: () => ConsoleWorld): void {
  let other: BrowserContext
  let bob: Page
  afterAll(() => other?.close())

  it('invites a person, and revokes an invitation', async () => {
    const { console } = world()
    const { page } = console
    await console.goto('/members')
    await page.getByText('None. An invitation is a mail').waitFor()
    expect(await flawsOf(console)).toEqual(NO_FLAWS)
    const invite = async (email: string) => {
      await page.getByRole('button', { name: 'Invite' }).click()
      await page.getByRole('dialog').getByLabel('Email').fill(email)
      await page.getByRole('dialog').getByRole('button', { name: 'Invite' }).click()
      await page.getByRole('table', { name: 'Open invitations' }).getByText(email).waitFor()
    }
    await invite(BOB.email)
    await invite('carol@example.com')
    expect(await flawsOf(console)).toEqual(NO_FLAWS)
    await page.getByRole('button', { name: 'Revoke the invitation of carol@example.com' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click()
    await page.getByText('carol@example.com', { exact: true }).waitFor({ state: 'detached' })
    expect(console.problems).toEqual([])
  })

  it('lets the invited person sign up and join', async () => {
    const { console, offshoot } = world()
    other = await console.newContext()
    bob = await other.newPage()
    const token = await mailed(offshoot, /invitation#([\w-]+)/)
    await console.goto(`/invitation#${token}`, bob)
    await bob.getByRole('heading', { name: 'You are invited' }).waitFor()
    // The address bar and the history do not keep the token.
    expect(new URL(bob.url()).hash).toBe('')
    expect(await flawsOf(console, bob)).toEqual(NO_FLAWS)
    await bob.getByRole('link', { name: 'Sign up' }).click()
    await bob.getByRole('heading', { name: 'Sign up for Offshoot' }).waitFor()
    await bob.getByLabel('Name').fill(BOB.name)
    await bob.getByLabel('Email').fill(BOB.email)
    await bob.getByLabel('Password').fill(BOB.password)
    expect(await flawsOf(console, bob)).toEqual(NO_FLAWS)
    await bob.getByRole('button', { name: 'Sign up' }).click()
    await bob.getByRole('button', { name: 'Join the workspace' }).click()
    await bob
      .getByRole('heading', { name: /sandboxes/i })
      .first()
      .waitFor()
    await console.goto('/members')
    await console.page.getByRole('table', { name: 'Members' }).getByText(BOB.email).waitFor()
    expect(await flawsOf(console)).toEqual(NO_FLAWS)
  })

  it('shows members what their role allows, at once when the role changes', async () => {
    const { console } = world()
    await console.goto('/members', bob)
    await bob.getByRole('button', { name: 'Leave the workspace' }).waitFor()
    expect(await bob.getByRole('button', { name: 'Invite' }).count()).toBe(0)
    expect(await bob.getByRole('link', { name: 'Audit log' }).count()).toBe(0)
    await console.goto('/audit', bob)
    await bob.getByRole('alert').getByText('Not permitted').waitFor()
    expect(await flawsOf(console, bob)).toEqual(NO_FLAWS)
    await console.page.getByLabel(`Role of ${BOB.email}`).selectOption('admin')
    await console.page.getByText('The role is changed').waitFor()
    await console.goto('/members', bob)
    await bob.getByRole('button', { name: 'Invite' }).waitFor()
    await bob.getByRole('link', { name: 'Audit log' }).waitFor()
  })

  it('removes a member, who loses access', async () => {
    const { console } = world()
    const { page } = console
    await page.getByRole('button', { name: `Remove ${BOB.email}` }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click()
    await page.getByRole('table', { name: 'Members' }).getByText(BOB.email).waitFor({ state: 'detached' })
    await console.goto('/members', bob)
    // Bob's own workspace.
    await bob.getByText(`Members of ${BOB.name}'s workspace`).waitFor()
    expect(console.problems).toEqual([])
  })

  it('signs out, refuses a wrong password, and sends a link for a new one', async () => {
    const { console, offshoot } = world()
    await bob.getByRole('button', { name: `Account: ${BOB.email}` }).click()
    await bob.getByRole('menuitem', { name: 'Sign out' }).click()
    await bob.getByRole('heading', { name: 'Sign in to Offshoot' }).waitFor()
    await bob.getByLabel('Email').fill(BOB.email)
    await bob.getByLabel('Password').fill('a wrong horse')
    await bob.getByRole('button', { name: 'Sign in', exact: true }).click()
    await bob.getByRole('alert').waitFor()
    expect(await flawsOf(console, bob)).toEqual(NO_FLAWS)
    await bob.getByRole('link', { name: 'Forgot the password?' }).click()
    await bob.getByRole('heading', { name: 'Forgot the password?' }).waitFor()
    await bob.getByLabel('Email').fill(BOB.email)
    expect(await flawsOf(console, bob)).toEqual(NO_FLAWS)
    await bob.getByRole('button', { name: 'Send a link' }).click()
    await bob.getByRole('status').getByText(BOB.email).waitFor()
    await bob.goto(await mailed(offshoot, /(http\S+reset-password\S*)/))
    await bob.getByRole('heading', { name: 'Choose a new password' }).waitFor()
    expect(new URL(bob.url()).search).toBe('')
    expect(await flawsOf(console, bob)).toEqual(NO_FLAWS)
    await bob.getByLabel('Password').fill(`${BOB.password} twice`)
    await bob.getByRole('button', { name: 'Change the password' }).click()
    await bob.getByRole('link', { name: 'Sign in' }).click()
    await bob.getByRole('heading', { name: 'Sign in to Offshoot' }).waitFor()
    await bob.getByLabel('Email').fill(BOB.email)
    await bob.getByLabel('Password').fill(`${BOB.password} twice`)
    await bob.getByRole('button', { name: 'Sign in', exact: true }).click()
    await bob.getByRole('button', { name: `Account: ${BOB.email}` }).waitFor()
  })

  it.each([
    ['/reset-password', 'This link does not work'],
    ['/verified?error=x', 'This link does not work'],
    ['/invitation', 'This link is not complete'],
  ])('says on %s that the link is spent', async (path, title) => {
    const { console } = world()
    const page = await other.newPage()
    await console.goto(path, page)
    await page.getByRole('heading', { name: title }).waitFor()
    expect(await flawsOf(console, page)).toEqual(NO_FLAWS)
    await page.close()
  })
}
