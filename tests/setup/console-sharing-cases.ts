import { expect, it } from 'vitest'
import { flawsOf, NO_FLAWS } from './console-flaws.ts'
import { type Account, asOwner, signInByKeyboard, signUp } from './console-people.ts'
import { invitationFor } from './mailed.ts'
import type { ConsoleWorld } from './console-world.ts'

/** What the console shows to people who may see or change less than the owner. */
export function sharingCases(worldOf: () => ConsoleWorld): void {
  const page = () => worldOf().console.page
  const heading = (name: string) => page().getByRole('heading', { name, exact: true })
  const button = (name: string | RegExp) => page().getByRole('button', { name })
  let ina: Account
  let workspaceId: string

  it.each(['', '/files', '/overview', '/logs'])('finds no sandbox of another workspace at %j', async (tab) => {
    const { console, offshoot } = worldOf()
    ina ??= await signUp(offshoot)
    const [{ id }] = (await offshoot.request('GET', '/v1/sandboxes')).body
    await console.context.clearCookies()
    await console.goto(`/sandboxes/${id}${tab}`)
    await heading('Sign in to Offshoot').waitFor()
    await signInByKeyboard(page(), ina)
    await page().getByRole('alert').getByText('belongs to another workspace').waitFor()
    expect(await flawsOf(console)).toEqual(NO_FLAWS)
  })

  it('lets an invited person join', async () => {
    const { console, offshoot } = worldOf()
    workspaceId = (await asOwner(offshoot, 'GET', '/v1/me')).body.org.id
    await asOwner(offshoot, 'POST', `/v1/orgs/${workspaceId}/members`, { email: ina.email, role: 'member' })
    const token = await invitationFor(offshoot, ina.email)
    await console.goto(`/invitation#${token}`)
    await page().getByText(`You are signed in as ${ina.email}`).waitFor()
    expect(page().url()).not.toContain(token)
    expect(await flawsOf(console)).toEqual(NO_FLAWS)
    await button('Join the workspace').click()
    await heading('Sandboxes').waitFor()
    expect(console.problems).toEqual([])
  })

  it('shows a member no button for what only owners and admins may do', async () => {
    const { console, offshoot } = worldOf()
    expect(await page().getByRole('link', { name: 'Audit log' }).count()).toBe(0)
    await page().getByRole('link', { name: 'Members' }).click()
    await page().getByRole('row').filter({ hasText: offshoot.credentials.email }).waitFor()
    await button('Leave the workspace').waitFor()
    expect(await button(/^(Invite|Remove|Revoke)/).count()).toBe(0)
    expect(
      await page()
        .getByRole('combobox', { name: /^Role of/ })
        .count(),
    ).toBe(0)
    expect(await flawsOf(console)).toEqual(NO_FLAWS)
    await page().getByRole('link', { name: 'Settings' }).click()
    await page().getByText('Your role').waitFor()
    expect(await page().getByLabel('Short name').count()).toBe(0)
    expect(await heading('Delete the workspace').count()).toBe(0)
    expect(await flawsOf(console)).toEqual(NO_FLAWS)
    await console.goto('/audit')
    await page().getByRole('alert').getByText('Not permitted').waitFor()
    expect(await flawsOf(console)).toEqual(NO_FLAWS)
  })

  it.each([
    ['PATCH', '', { name: 'mine' }],
    ['DELETE', '', undefined],
    ['POST', '/members', { email: 'friend@example.com' }],
    ['GET', '/invites', undefined],
  ])('the service refuses the same to a member: %s /v1/orgs/ID%s', async (method, path, body) => {
    const asked = JSON.stringify({ method, body: body && JSON.stringify(body) })
    const status = await page().evaluate(`(async () => {
      const { token } = await (await fetch('/api/auth/token')).json()
      const headers = { authorization: 'Bearer ' + token, 'content-type': 'application/json' }
      return (await fetch('/v1/orgs/${workspaceId}${path}', { ...${asked}, headers })).status
    })()`)
    expect(status).toBe(403)
  })

  it('goes back to the own workspace when the owner removes the member', async () => {
    const { console, offshoot } = worldOf()
    const { body: members } = await asOwner(offshoot, 'GET', `/v1/orgs/${workspaceId}/members`)
    const { user_id: id } = (members as { user_id: string; email: string }[]).find(
      ({ email }) => email === ina.email,
    ) as { user_id: string }
    expect((await asOwner(offshoot, 'DELETE', `/v1/orgs/${workspaceId}/members/${id}`)).status).toBe(204)
    await console.goto('/')
    await heading('No sandboxes yet').waitFor()
    expect(console.problems).toEqual([])
  })
}
