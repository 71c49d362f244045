import { readFile } from 'node:fs/promises'
import { expect, it } from 'vitest'
import { flawsOf, NO_FLAWS } from './console-flaws.ts'
import type { ConsoleWorld } from './console-world.ts'
import { call } from './http.ts'
import { until } from './until.ts'

const SSH_KEY = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGJ0cYNDHjkMLD0UVBWn2MYtKWmsStSHKzTuHUuNvYa9 me@laptop'

/** Usage, keys, the audit log and the settings of a workspace. */
export function consoleWorkspaceCases(world: () => ConsoleWorld): void {
  it('shows limits and what was used', async () => {
    const { console, offshoot } = world()
    const { page } = console
    await console.goto('/usage')
    await page.getByText('Nothing was used in this month.').waitFor()
    expect(await flawsOf(console)).toEqual(NO_FLAWS)
    const { id } = await offshoot.create({ template: 'minimal', metadata: { name: 'metered' } })
    await until('a second of use', async () => (await offshoot.request('GET', '/v1/usage')).body.groups.length > 0)
    await console.goto('/usage')
    const limits = page.getByRole('region', { name: 'Plan and limits' })
    await limits
      .getByRole('listitem')
      .filter({ hasText: /^Sandboxes1/ })
      .waitFor()
    await page.getByRole('table', { name: 'Usage' }).getByText('total').waitFor()
    await page.getByLabel('Group by').selectOption('template')
    await page.getByRole('row', { name: /^minimal/ }).waitFor()
    await page
      .getByRole('region', { name: /^Statement of/ })
      .getByText('so far')
      .waitFor()
    expect(await flawsOf(console)).toEqual(NO_FLAWS)
    const download = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Download' }).click()
    const statement = await readFile(await (await download).path(), 'utf8')
    expect(statement).toMatch(/^item,seconds,cpu_seconds,cost_usd\r\n/)
    await page.getByLabel('Month').selectOption({ index: 11 })
    await page.getByText('Nothing was used in this month.').waitFor()
    await offshoot.delete(id)
  })

  it('shows a key once, which works until it is revoked', async () => {
    const { console, offshoot } = world()
    const { page } = console
    const { base_url: baseUrl } = offshoot.credentials
    await console.goto('/keys')
    await page.getByRole('table', { name: 'API keys' }).waitFor()
    await page.getByRole('button', { name: 'New key' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Name').fill('build server')
    await dialog.getByLabel('Only what is chosen here').check()
    expect(await dialog.getByRole('button', { name: 'Create' }).isEnabled()).toBe(false)
    await dialog.getByLabel('sandboxes: read').check()
    expect(await flawsOf(console)).toEqual(NO_FLAWS)
    await dialog.getByRole('button', { name: 'Create' }).click()
    const key = (await dialog.getByLabel('Key', { exact: true }).textContent()) ?? ''
    expect(await flawsOf(console)).toEqual(NO_FLAWS)
    await dialog.getByRole('button', { name: 'I have copied it' }).click()
    expect(await page.getByText(key).count()).toBe(0)
    const row = page.getByRole('row', { name: /build server/ })
    await row.getByText('sandboxes (read)').waitFor()
    const headers = { authorization: `Bearer ${key}` }
    expect((await call('GET', `${baseUrl}/v1/sandboxes`, { headers })).status).toBe(200)
    expect((await call('GET', `${baseUrl}/v1/volumes`, { headers })).status).toBe(403)
    await row.getByRole('button', { name: 'Revoke build server' }).click()
    await dialog.getByRole('button', { name: 'Revoke' }).click()
    await row.waitFor({ state: 'detached' })
    const isRefused = async () => (await call('GET', `${baseUrl}/v1/sandboxes`, { headers })).status === 401
    expect(await until('the key to be refused', isRefused)).toBe(true)
  })

  it('adds an SSH key, refuses what is none, and deletes it', async () => {
    const { console } = world()
    const { page } = console
    await page.getByRole('heading', { name: 'No SSH keys yet' }).waitFor()
    expect(await flawsOf(console)).toEqual(NO_FLAWS)
    await page.getByRole('button', { name: 'Add a key' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Public key').fill('no key')
    await dialog.getByRole('button', { name: 'Add' }).click()
    await dialog.getByRole('alert').waitFor()
    expect(await flawsOf(console)).toEqual(NO_FLAWS)
    await dialog.getByLabel('Public key').fill(SSH_KEY)
    await dialog.getByRole('button', { name: 'Add' }).click()
    const row = page.getByRole('table', { name: 'SSH keys' }).getByRole('row', { name: /me@laptop/ })
    await row.getByText(/^SHA256:/).waitFor()
    expect(await flawsOf(console)).toEqual(NO_FLAWS)
    await row.getByRole('button', { name: 'Delete me@laptop' }).click()
    await dialog.getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('heading', { name: 'No SSH keys yet' }).waitFor()
  })

  it('finds entries of the audit log, and exports them', async () => {
    const { console } = world()
    const { page } = console
    await console.goto('/audit')
    await page.getByLabel('Action').selectOption('token.revoked')
    const entry = page.getByRole('table', { name: 'Entries' }).getByRole('button', { name: /^Details/ })
    await entry.waitFor()
    expect(new URL(page.url()).searchParams.get('action')).toBe('token.revoked')
    expect(await flawsOf(console)).toEqual(NO_FLAWS)
    await entry.click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('button', { name: 'Copy the request id' }).waitFor()
    expect(await flawsOf(console)).toEqual(NO_FLAWS)
    await dialog.getByRole('button', { name: 'Close' }).click()
    const download = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Export' }).click()
    await page.getByRole('menuitem', { name: 'JSON lines' }).click()
    const lines = (await readFile(await (await download).path(), 'utf8')).trim().split('\n')
    expect(lines.map((line) => JSON.parse(line).action)).toEqual(['token.revoked'])
    await page.getByLabel('From').fill('2020-01-01')
    await page.getByLabel('To', { exact: true }).fill('2020-01-02')
    await page.getByRole('heading', { name: 'No entries' }).waitFor()
    expect(await flawsOf(console)).toEqual(NO_FLAWS)
    await page.getByRole('button', { name: 'Clear' }).click()
    await entry.first().waitFor()
    await console.goto('/audit?action=nothing')
    await page.getByRole('alert').getByText('Refused').waitFor()
    expect(await flawsOf(console)).toEqual(NO_FLAWS)
  })

  it('renames a workspace that keeps its short name, and refuses one that is reserved', async () => {
    const { console } = world()
    const { page } = console
    await console.goto('/settings')
    await page.getByLabel('Name', { exact: true }).fill('My workshop')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('button', { name: 'Workspace: My workshop' }).waitFor()
    await page.getByLabel('Short name').fill('admin')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('alert').getByText('no reserved word').waitFor()
    expect(await flawsOf(console)).toEqual(NO_FLAWS)
  })

  it('makes a workspace, goes there, and deletes it', async () => {
    const { console } = world()
    const { page } = console
    await page.getByRole('button', { name: 'New workspace' }).click()
    await page.getByRole('dialog').getByLabel('Name').fill('Second')
    await page.getByRole('dialog').getByRole('button', { name: 'Create' }).click()
    await page.getByRole('button', { name: 'Workspace: Second' }).waitFor()
    await page.getByRole('heading', { name: 'No sandboxes yet' }).waitFor()
    await console.goto('/keys')
    await page.getByRole('heading', { name: 'No keys yet' }).waitFor()
    expect(await flawsOf(console)).toEqual(NO_FLAWS)
    await console.goto('/settings')
    await page.getByRole('button', { name: 'Delete' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Type the name: Second').fill('Second')
    expect(await flawsOf(console)).toEqual(NO_FLAWS)
    await dialog.getByRole('button', { name: 'Delete the workspace' }).click()
    await page.getByRole('button', { name: 'Workspace: My workshop' }).waitFor()
  })
}
