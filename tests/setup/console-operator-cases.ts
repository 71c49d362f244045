import { expect, it } from 'vitest'
import { flawsOf, NO_FLAWS } from './console-flaws.ts'
import type { ConsoleWorld } from './console-world.ts'
import { call } from './http.ts'
import { joinWithoutAgent, NOWHERE } from './join-without-agent.ts'
import { until } from './until.ts'

/** The pages of operators, and the status page. */
export function consoleOperatorCases(world: () => ConsoleWorld): void {
  it('opens the pages of operators with their key only', async () => {
    const { console, offshoot } = world()
    const { page } = console
    await console.goto('/hosts')
    await page.getByLabel('Key of an operator').fill('ofs_operator_of_nobody')
    await page.getByRole('button', { name: 'Open' }).click()
    await page.getByRole('main').getByRole('alert').waitFor()
    expect(await flawsOf(console)).toEqual(NO_FLAWS)
    await page.getByLabel('Key of an operator').fill(offshoot.credentials.operator_key)
    await page.getByLabel('Keep it until this tab is closed').check()
    await page.getByRole('button', { name: 'Open' }).click()
    await page.getByRole('table', { name: 'Hosts' }).getByText('ready').waitFor()
    expect(await flawsOf(console)).toEqual(NO_FLAWS)
  })

  it('shows a host, and what runs there', async () => {
    const { console, offshoot } = world()
    const { page } = console
    await page.getByRole('table', { name: 'Hosts' }).getByRole('link').click()
    await page.getByText('No VM.').waitFor()
    await page.getByText('Empty: every object on this host').waitFor()
    await page.getByText('Nothing waits for you.').waitFor()
    expect(await flawsOf(console)).toEqual(NO_FLAWS)
    const { id } = await offshoot.create({ template: 'minimal' })
    await until('the first sample of the VM', async () => {
      await page.reload()
      await page
        .getByRole('region', { name: 'What runs here' })
        .getByText(/No VM\.|CPU time/)
        .waitFor()
      return page.getByRole('table', { name: 'VMs' }).getByText(id).isVisible()
    })
    expect(await flawsOf(console)).toEqual(NO_FLAWS)
    await offshoot.delete(id)
    await console.goto('/hosts/host/nothing')
    await page.getByRole('heading', { name: 'No such host' }).waitFor()
    expect(await flawsOf(console)).toEqual(NO_FLAWS)
  })

  it('makes the command with which a machine joins, and shows its token once', async () => {
    const { console } = world()
    const { page } = console
    await console.goto('/hosts')
    await page.getByRole('button', { name: 'Add a host' }).click()
    const dialog = page.getByRole('dialog')
    const command = (await dialog.getByLabel('Command', { exact: true }).textContent()) ?? ''
    expect(command).toMatch(/^bin\/up --join http:\/\/\S+ --token oht_[\w-]{43}$/)
    expect(await flawsOf(console)).toEqual(NO_FLAWS)
    await dialog.getByRole('button', { name: 'Close' }).click()
    await dialog.waitFor({ state: 'detached' })
    expect(await page.getByText(command).count()).toBe(0)
  })

  it('shows a host whose agent has not answered yet, and removes it', async () => {
    const { console, offshoot } = world()
    const { page } = console
    const id = await joinWithoutAgent(offshoot)
    await console.goto('/hosts')
    const row = page.getByRole('row').filter({ hasText: NOWHERE })
    await row.getByText('joining').waitFor()
    expect(await flawsOf(console)).toEqual(NO_FLAWS)
    await row.getByRole('link', { name: id }).click()
    await page.getByText('waits for the first answer of its agent').waitFor()
    expect(await page.getByRole('region', { name: /Drain|Disk|Quarantine|Reconciliation/ }).count()).toBe(0)
    expect(await flawsOf(console)).toEqual(NO_FLAWS)
    await page.getByRole('button', { name: 'Remove' }).click()
    await page.getByRole('dialog').getByText('another token').waitFor()
    expect(await flawsOf(console)).toEqual(NO_FLAWS)
    await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click()
    await page.getByRole('table', { name: 'Hosts' }).getByText('ready').waitFor()
    await row.waitFor({ state: 'detached' })
    expect(console.problems).toEqual([])
  })

  it('says of a host that is lost or of another cluster that nothing new starts there', async () => {
    const { console, offshoot } = world()
    const { page } = console
    const { base_url: url, operator_key: key } = offshoot.credentials
    const { body } = await call('GET', `${url}/v1/admin/hosts`, { headers: { authorization: `Bearer ${key}` } })
    const [host] = body
    // Only the answers are made up: a host that is lost would end the other journeys.
    let state = 'lost'
    const list = /\/v1\/admin\/hosts(\?|$)/
    await page.route(list, (route) => route.fulfill({ json: [{ ...host, state }] }))
    await console.goto(`/hosts/host/${host.id}`)
    await page.getByText('no control process hears this host').waitFor()
    expect(await flawsOf(console)).toEqual(NO_FLAWS)
    state = 'foreign'
    await page.reload()
    await page.getByText('this host belongs to another cluster').waitFor()
    await page.unroute(list)
  })

  it('cordons a host, and uncordons it', async () => {
    const { console, offshoot } = world()
    const { page } = console
    await console.goto('/hosts')
    await page.getByRole('table', { name: 'Hosts' }).getByRole('link').click()
    const about = page.getByRole('region', { name: 'About' })
    await about.getByRole('button', { name: 'Cordon', exact: true }).click()
    await about.getByText('Nothing new starts here.').waitFor()
    await about.getByText('cordoned', { exact: true }).waitFor()
    expect(await flawsOf(console)).toEqual(NO_FLAWS)
    await expect(offshoot.create({ template: 'minimal' })).rejects.toThrow('no available compute node')
    await page.getByRole('link', { name: 'All hosts' }).click()
    await page.getByRole('table', { name: 'Hosts' }).getByText('cordoned').waitFor()
    expect(await flawsOf(console)).toEqual(NO_FLAWS)
    await page.getByRole('table', { name: 'Hosts' }).getByRole('link').click()
    await about.getByRole('button', { name: 'Uncordon' }).click()
    await about.getByText('New sandboxes may start here.').waitFor()
    const { id } = await offshoot.create({ template: 'minimal' })
    await offshoot.delete(id)
    expect(await flawsOf(console)).toEqual(NO_FLAWS)
  })

  it('drains a host, and shows what no other host can take', async () => {
    const { console, offshoot } = world()
    const { page } = console
    const { id } = await offshoot.create({ template: 'minimal' })
    await console.goto('/hosts')
    await page.getByRole('table', { name: 'Hosts' }).getByRole('link').click()
    await page.getByText('Nobody drains this host.').waitFor()
    await page.getByRole('button', { name: 'Drain', exact: true }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('move to other hosts').waitFor()
    await dialog.getByRole('button', { name: 'Drain' }).click()
    const row = page.getByRole('table', { name: 'What stays' }).getByRole('row').filter({ hasText: id })
    await row.getByText('no other host can take it').waitFor()
    expect(await flawsOf(console)).toEqual(NO_FLAWS)
    await page.getByRole('button', { name: 'Uncordon' }).click()
    await page.getByText('Nobody drains this host.').waitFor()
    expect((await offshoot.request('GET', `/v1/sandboxes/${id}`)).body.status).toBe('running')
    await offshoot.delete(id)
  })

  it('gives a host labels and a zone', async () => {
    const { console } = world()
    const { page } = console
    const about = page.getByRole('region', { name: 'About' })
    await about.getByRole('button', { name: 'Labels and zone' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Labels', { exact: true }).fill('disk')
    await dialog.getByText('Each line must be key=value').waitFor()
    expect(await flawsOf(console)).toEqual(NO_FLAWS)
    await dialog.getByLabel('Labels', { exact: true }).fill('disk=nvme\ngpu=none')
    await dialog.getByLabel('Zone').fill('rack-1')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await about.getByText('gpu=none').waitFor()
    await page.getByRole('link', { name: 'All hosts' }).click()
    const table = page.getByRole('table', { name: 'Hosts' })
    await table.getByText('disk=nvme').waitFor()
    expect(await table.getByText('rack-1').isVisible()).toBe(true)
    expect(await flawsOf(console)).toEqual(NO_FLAWS)
    await table.getByRole('link').click()
    await about.getByRole('button', { name: 'Labels and zone' }).click()
    await dialog.getByLabel('Labels', { exact: true }).fill('')
    await dialog.getByLabel('Zone').fill('')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await about.getByText('gpu=none').waitFor({ state: 'detached' })
  })

  it('lists jobs and workspaces, and suspends a workspace for a while', async () => {
    const { console, offshoot } = world()
    const { page } = console
    await page.getByRole('link', { name: 'Jobs' }).click()
    await page.getByLabel('State').selectOption('failed')
    await page.getByText('No jobs.').waitFor()
    expect(await flawsOf(console)).toEqual(NO_FLAWS)
    await page.getByRole('link', { name: 'Workspaces' }).click()
    const row = page.getByRole('row').filter({ hasText: offshoot.credentials.email })
    await row.getByRole('button', { name: /^Actions for/ }).click()
    await page.getByRole('menuitem', { name: 'Suspend' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Reason').fill('a trial')
    await dialog.getByRole('button', { name: 'Suspend' }).click()
    await row.getByText('suspended').waitFor()
    expect(await flawsOf(console)).toEqual(NO_FLAWS)
    const other = await console.context.newPage()
    await console.goto('/settings', other)
    await other.getByText('suspended: nothing new can start').waitFor()
    await other.close()
    await row.getByRole('button', { name: /^Actions for/ }).click()
    await page.getByRole('menuitem', { name: 'End the suspension' }).click()
    await dialog.getByLabel('Reason').fill('it is over')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await row.getByText('suspended').waitFor({ state: 'detached' })
    await page.getByLabel('Find workspaces').fill('nobody@example.com')
    await page.getByLabel('Find workspaces').press('Enter')
    await page.getByText('No workspace fits.').waitFor()
    expect(console.problems).toEqual([])
  })

  it('says which hosts get what is new in a workspace', async () => {
    const { console, offshoot } = world()
    const { page } = console
    const row = page.getByRole('row').filter({ hasText: offshoot.credentials.email })
    const dialog = page.getByRole('dialog')
    const open = async () => {
      await row.getByRole('button', { name: /^Actions for/ }).click()
      await page.getByRole('menuitem', { name: 'Choose its hosts' }).click()
    }
    await console.goto('/hosts/workspaces')
    await open()
    await dialog.getByLabel('Labels', { exact: true }).fill('disk')
    await dialog.getByText('Each line must be key=value').waitFor()
    expect(await dialog.getByRole('button', { name: 'Save' }).isDisabled()).toBe(true)
    await dialog.getByLabel('Labels', { exact: true }).fill('disk=nvme')
    await dialog.getByLabel('Zone').fill('no zone')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.getByRole('alert').getByText('zone must be letters').waitFor()
    expect(await flawsOf(console)).toEqual(NO_FLAWS)
    await dialog.getByLabel('Zone').fill('rack-9')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await row.getByText('disk=nvme').waitFor()
    expect(await row.getByText('rack-9').isVisible()).toBe(true)
    expect(await flawsOf(console)).toEqual(NO_FLAWS)
    await expect(offshoot.create({ template: 'minimal' })).rejects.toThrow('no available compute node')
    await open()
    expect(await dialog.getByLabel('Labels', { exact: true }).inputValue()).toBe('disk=nvme')
    await dialog.getByLabel('Labels', { exact: true }).fill('')
    await dialog.getByLabel('Zone').fill('')
    await dialog.getByRole('button', { name: 'Save' }).click()
    // Before that, no row is in the tree of accessibility.
    await dialog.waitFor({ state: 'detached' })
    await row.getByText('disk=nvme').waitFor({ state: 'detached' })
    await offshoot.delete((await offshoot.create({ template: 'minimal' })).id)
  })

  it('adds an operator with a key that is shown once, and forgets its own key', async () => {
    const { console } = world()
    const { page } = console
    await page.getByRole('link', { name: 'Operators' }).click()
    await page.getByRole('button', { name: 'Add an operator' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Name').fill('Olga')
    await dialog.getByRole('button', { name: 'Add' }).click()
    const section = page.getByRole('region', { name: 'Olga (viewer)' })
    await section.getByText('No keys.').waitFor()
    await section.getByRole('button', { name: 'New key' }).click()
    await dialog.getByLabel('Name').fill('laptop')
    await dialog.getByRole('button', { name: 'Create' }).click()
    const key = (await dialog.getByLabel('Key', { exact: true }).textContent()) ?? ''
    await dialog.getByRole('button', { name: 'Close' }).click()
    await section.getByRole('row', { name: /laptop/ }).waitFor()
    expect(await page.getByText(key).count()).toBe(0)
    expect(await flawsOf(console)).toEqual(NO_FLAWS)
    await section.getByRole('button', { name: 'Remove Olga' }).click()
    await dialog.getByRole('button', { name: 'Remove' }).click()
    await section.waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Forget the key' }).click()
    await page.getByLabel('Key of an operator').waitFor()
    await page.reload()
    await page.getByLabel('Key of an operator').waitFor()
    expect(console.problems).toEqual([])
  })

  it('says on the status page whether the service works, without a sign-in', async () => {
    const { console } = world()
    const context = await console.newContext()
    const page = await context.newPage()
    await console.goto('/status', page)
    await page.getByRole('status').getByText('Everything works').waitFor()
    expect(await flawsOf(console, page)).toEqual(NO_FLAWS)
    // Only the answers are made up: a part that failed would end the other journeys.
    let status = 'degraded'
    const parts = { api: 'operational', sandboxes: 'operational', databases: 'unknown', apps: 'operational' }
    await page.route('**/v1/status', (route) =>
      route.fulfill({ json: { status, parts: { ...parts, previews: status }, checked_at: new Date().toISOString() } }),
    )
    await page.getByRole('button', { name: 'Refresh' }).click()
    await page.getByRole('status').getByText('Something works in part').waitFor()
    status = 'down'
    await page.getByRole('button', { name: 'Refresh' }).click()
    await page.getByRole('status').getByText('Something does not work').waitFor()
    expect(await flawsOf(console, page)).toEqual(NO_FLAWS)
    await context.close()
  })
}
