import { expect, it } from 'vitest'
import { flawsOf, NO_FLAWS } from './console-flaws.ts'
import type { SandboxWorld } from './console-terminal-cases.ts'

const SERVE = 'mkdir -p /srv && echo "<h1>from the sandbox</h1>" >/srv/index.html && exec httpd -f -p 8000 -h /srv'

/** The tabs with what happens in a sandbox. */
export function activityCases(worldOf: () => SandboxWorld): void {
  const page = () => worldOf().console.page
  const button = (name: string | RegExp) => page().getByRole('button', { name, exact: true })
  const inDialog = (name: string) => page().getByRole('dialog').getByRole('button', { name, exact: true })

  it('shows a port as soon as something listens, and its preview beside it', async () => {
    const { console, offshoot, id } = worldOf()
    await console.goto(`/sandboxes/${id}/ports`)
    await page().getByRole('heading', { name: 'Nothing listens' }).waitFor()
    expect(await flawsOf(console)).toEqual(NO_FLAWS)
    await offshoot.request('POST', `/v1/sandboxes/${id}/exec`, { body: { cmd: SERVE, background: true } })
    await page()
      .getByRole('row', { name: /8000.*listening/ })
      .waitFor()
    await button('Preview').click()
    const preview = page().frameLocator('iframe[title="Preview of port 8000"]')
    await preview.getByRole('heading', { name: 'from the sandbox' }).waitFor()
    expect(await flawsOf(console)).toEqual(NO_FLAWS)
  })

  it('labels ports, and makes links to private ones', async () => {
    const { console } = worldOf()
    await button('Make private').click()
    await page().getByText('Members of the workspace and holders of a link may open the ports.').waitFor()
    await page().getByTitle('Preview of port 8000').waitFor({ state: 'detached' })
    await button('Add a port').click()
    await page().getByLabel('Port', { exact: true }).fill('70000')
    await page().getByText('A number from 1 to 65535.').waitFor()
    await page().getByLabel('Port', { exact: true }).fill('9000')
    await page().getByRole('textbox', { name: 'Label', exact: true }).fill('later')
    await page().keyboard.press('Enter')
    await page()
      .getByRole('row', { name: /9000 later closed/ })
      .waitFor()
    await button('Links to port 8000').click()
    await page().getByText('There are no links.').waitFor()
    await page().getByRole('textbox', { name: 'Label', exact: true }).fill('for Ina')
    await inDialog('Create a link').click()
    await page().getByText('It is shown only now.').waitFor()
    expect(await flawsOf(console)).toEqual(NO_FLAWS)
    await inDialog('Revoke for Ina').click()
    await page().getByText('There are no links.').waitFor()
    await page().keyboard.press('Escape')
    await button('Remove the label of port 9000').click()
    await page().getByRole('row', { name: /9000/ }).waitFor({ state: 'detached' })
    await button('Make public').click()
    await page().getByText('Everybody who knows an address may open it.').waitFor()
    expect(console.problems).toEqual([])
  })

  it('shows events as they happen, with their durations', async () => {
    const { console, offshoot, id } = worldOf()
    await console.goto(`/sandboxes/${id}/timeline`)
    const events = page().getByRole('region', { name: 'Events, newest first' })
    await events.getByText('sandbox.running').first().waitFor()
    await offshoot.request('POST', `/v1/sandboxes/${id}/pause`)
    await events.getByText('sandbox.paused').first().waitFor()
    await offshoot.request('POST', `/v1/sandboxes/${id}/resume`)
    await events.getByText('sandbox.resumed').first().waitFor()
    await events.getByText(/^\+\d/).first().waitFor()
    expect(await flawsOf(console)).toEqual(NO_FLAWS)
  })

  it('draws what the sandbox uses', async () => {
    const { console, id } = worldOf()
    await console.goto(`/sandboxes/${id}/metrics`)
    for (const name of ['CPU', 'Memory', 'Disk', 'Network'])
      await page().getByRole('region', { name }).getByRole('img').waitFor()
    expect(await flawsOf(console)).toEqual(NO_FLAWS)
  })
}
