import { expect, it } from 'vitest'
import { flawsOf, NO_FLAWS } from './console-flaws.ts'
import type { SandboxWorld } from './console-terminal-cases.ts'

/** The overview of a sandbox, and what its menu does. It deletes the sandbox. */
export function overviewCases(worldOf: () => SandboxWorld): void {
  const page = () => worldOf().console.page
  const button = (name: string) => page().getByRole('button', { name, exact: true })
  const inDialog = (name: string) => page().getByRole('dialog').getByRole('button', { name, exact: true })
  const badge = (status: string) => page().getByRole('main').getByText(status, { exact: true })
  const terminal = () => page().getByRole('tabpanel').locator('.xterm-rows').filter({ hasText: '#' })
  const tab = async (name: string) =>
    page().getByRole('navigation', { name: 'Parts of the sandbox' }).getByRole('link', { name }).click()
  const choose = async (name: string) => {
    await button('More actions').press('Enter')
    await page().getByRole('menuitem', { name, exact: true }).press('Enter')
  }
  const statusOf = async (id: string) => (await worldOf().offshoot.request('GET', `/v1/sandboxes/${id}`)).body.status

  it('pauses and resumes, and a look at a tab wakes nothing', async () => {
    const { console, id } = worldOf()
    await console.goto(`/sandboxes/${id}/overview`)
    await page().getByRole('region', { name: 'About' }).getByText('minimal').waitFor()
    expect(await flawsOf(console)).toEqual(NO_FLAWS)
    await choose('Pause')
    await badge('paused').waitFor()
    for (const name of ['Terminal', 'Files', 'Changes', 'Commands']) {
      await tab(name)
      await page().getByRole('heading', { name: 'The sandbox is paused' }).waitFor()
    }
    expect(await flawsOf(console)).toEqual(NO_FLAWS)
    expect(await statusOf(id)).toBe('paused')
    await tab('Terminal')
    await button('Resume').click()
    await terminal().waitFor()
    expect(await statusOf(id)).toBe('running')
  })

  it('hibernates and wakes', async () => {
    const { console, id } = worldOf()
    await choose('Hibernate')
    await page().getByRole('heading', { name: 'The sandbox hibernates' }).waitFor()
    for (const name of ['Lineage', 'Logs', 'Timeline', 'Metrics', 'Ports', 'Overview']) {
      await tab(name)
      await page().getByRole('link', { name, exact: true }).and(page().locator('[aria-current=page]')).waitFor()
    }
    expect(await statusOf(id)).toBe('hibernated')
    await choose('Wake')
    await badge('running').waitFor()
    await tab('Terminal')
    await terminal().waitFor()
    expect(console.problems).toEqual([])
  })

  it('changes how long it lives', async () => {
    const { console } = worldOf()
    await tab('Overview')
    const life = page().getByRole('region', { name: 'Life' })
    await life.getByRole('button', { name: 'Change' }).click()
    await page().getByLabel('Minutes to live, from now').fill('-1')
    await page().getByText('A number above 0.').waitFor()
    await inDialog('Save').click()
    await page().getByRole('dialog').getByRole('alert').waitFor()
    expect(await flawsOf(console)).toEqual(NO_FLAWS)
    await page().getByLabel('Minutes to live, from now').fill('90')
    await page().getByRole('combobox', { name: 'Then' }).selectOption('hibernate it')
    await inDialog('Save').click()
    await life.getByText('1 h 30 min').waitFor()
    await life.getByText('hibernated').waitFor()
    expect(console.problems).toEqual([])
  })

  it('takes a snapshot, starts a sandbox from it, and deletes both', async () => {
    const { console, offshoot, id } = worldOf()
    const snapshots = page().getByRole('region', { name: 'Snapshots' })
    await snapshots.getByRole('button', { name: 'Take a snapshot' }).click()
    await page().getByRole('textbox', { name: 'Name' }).fill('before <b>')
    await page().keyboard.press('Enter')
    const entry = snapshots.getByRole('listitem').filter({ hasText: 'before <b>' })
    await entry.waitFor()
    expect(await flawsOf(console)).toEqual(NO_FLAWS)
    await entry.getByRole('button', { name: 'New sandbox' }).click()
    await terminal().waitFor()
    const made = idInAddress()
    expect(made).not.toBe(id)
    await choose('Delete')
    await inDialog('Delete').click()
    await page().waitForURL('**/sandboxes')
    await page().getByRole('link', { name: 'journey' }).click()
    await terminal().waitFor()
    await tab('Overview')
    await entry.getByRole('button', { name: 'Delete the snapshot before <b>' }).click()
    await inDialog('Delete').click()
    await entry.waitFor({ state: 'detached' })
    expect((await offshoot.request('GET', `/v1/sandboxes/${made}`)).status).toBe(404)
    expect(console.problems).toEqual([])
  })

  const idInAddress = () => /sandboxes\/([\w-]+)/.exec(page().url())?.[1] ?? ''

  it('forks, and opens the child, which knows its parent', async () => {
    const { console, id } = worldOf()
    await button('Fork').click()
    await page().waitForURL((url) => !url.pathname.includes(id))
    await terminal().waitFor()
    await tab('Overview')
    await page().getByRole('link', { name: id }).click()
    await page().waitForURL(`**/${id}/**`)
    await terminal().waitFor()
    expect(console.problems).toEqual([])
  })

  it('deletes the sandbox, and a page that still shows it says so', async () => {
    const { console, offshoot, id } = worldOf()
    const other = await console.context.newPage()
    await console.goto(`/sandboxes/${id}/overview`, other)
    await other.getByRole('region', { name: 'About' }).waitFor()
    await choose('Delete')
    await inDialog('Cancel').click()
    await page().getByRole('dialog').waitFor({ state: 'hidden' })
    await choose('Delete')
    await inDialog('Delete').click()
    await page().waitForURL('**/sandboxes')
    await other.getByRole('alert').getByText('It does not exist, was deleted').waitFor()
    expect(await flawsOf(console, other)).toEqual(NO_FLAWS)
    await other.close()
    expect((await offshoot.request('GET', `/v1/sandboxes/${id}`)).status).toBe(404)
  })
}
