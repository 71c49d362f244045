import { describe, expect, it } from 'vitest'
import { flawsOf, NO_FLAWS } from './console-flaws.ts'
import { consoleSqlCases } from './console-sql-cases.ts'
import { LONG_MS } from './console-template-cases.ts'
import type { ConsoleWorld } from './console-world.ts'
import { connected, type Database, value } from './database.ts'
import { until } from './until.ts'

/** The pages of databases. */
export function consoleDatabaseCases(world: () => ConsoleWorld): void {
  const shop = async () => {
    const { body } = await world().offshoot.request('GET', '/v1/databases')
    const { id } = (body as { id: string; label: string }[]).find(({ label }) => label === 'shop') ?? { id: '' }
    return (await world().offshoot.request('GET', `/v1/databases/${id}`)).body as Database
  }

  it('makes a database, whose address is hidden, copied and works', async () => {
    const { console } = world()
    const { page } = console
    await console.context.grantPermissions(['clipboard-read', 'clipboard-write'])
    await console.goto('/databases')
    await page.getByRole('heading', { name: 'No databases yet' }).waitFor()
    expect(await flawsOf(console)).toEqual(NO_FLAWS)
    await page.getByRole('button', { name: 'New database' }).first().click()
    await page.getByRole('dialog').getByLabel('Name').fill('shop')
    await page.getByRole('dialog').getByRole('button', { name: 'Create' }).click()
    await page.getByRole('heading', { name: 'shop', level: 1 }).waitFor({ timeout: LONG_MS })
    const { password } = await shop()
    expect(await page.getByText(password).count()).toBe(0)
    await page.getByRole('button', { name: 'Copy: URL' }).click()
    const url = await page.evaluate<string>('navigator.clipboard.readText()')
    expect(await value(url, 'select 1')).toBe(1)
    expect(await flawsOf(console)).toEqual(NO_FLAWS)
    await page.getByRole('button', { name: 'Show: URL' }).click()
    await page.getByRole('region', { name: 'URL' }).getByText(password).waitFor()
  })

  it('makes new credentials after a question', async () => {
    const { page } = world().console
    const before = await shop()
    await page.getByRole('button', { name: 'More actions' }).click()
    await page.getByRole('menuitem', { name: 'Reset credentials' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Make new credentials' }).click()
    await page.getByText('The database has new credentials').waitFor()
    const { password } = await shop()
    expect(password).not.toBe(before.password)
    await page.getByRole('region', { name: 'URL' }).getByText(password).waitFor()
  })

  it('branches a database, and shows the family as a tree', async () => {
    const { console } = world()
    const { page } = console
    await page.getByRole('link', { name: 'Branches' }).click()
    await page.getByText('No branches yet.').waitFor()
    await page.getByRole('button', { name: 'Branch shop' }).click()
    await page.getByRole('dialog').getByLabel('Name').fill('trial')
    await page.getByRole('dialog').getByRole('button', { name: 'Branch' }).click()
    await page.getByRole('heading', { name: 'trial', level: 1 }).waitFor({ timeout: LONG_MS })
    await page.getByRole('link', { name: 'Branches' }).click()
    const tree = page.getByRole('list', { name: 'Branches' })
    const inner = tree.getByRole('listitem').filter({ hasText: 'shop' }).getByRole('listitem')
    await inner.getByText('this one').waitFor()
    expect(await inner.getByRole('link').allTextContents()).toEqual(['trial'])
    expect(await flawsOf(console)).toEqual(NO_FLAWS)
    await console.goto('/databases')
    await page.getByRole('row', { name: /trial/ }).getByRole('link', { name: 'shop' }).waitFor()
    await page.getByLabel('Filter').fill('tri')
    await page.getByText('1 of 2').waitFor()
    expect(await flawsOf(console)).toEqual(NO_FLAWS)
  })

  describe('the SQL editor', () => {
    consoleSqlCases(world)
  })

  it('restores a database as it was at a time', async () => {
    const { console, offshoot } = world()
    const { page } = console
    const { id, connection_url: url } = await shop()
    await console.goto(`/databases/${id}/backups`)
    await page.getByText('No backups yet.').waitFor()
    expect(await flawsOf(console)).toEqual(NO_FLAWS)
    await page.getByRole('button', { name: 'Back up now' }).click()
    await page.getByRole('table', { name: 'Backups' }).getByText('not yet verified').waitFor({ timeout: LONG_MS })
    await connected(url, (client) => client.query('create table orders as select 1 as id'))
    // The form takes whole seconds.
    const then = Math.ceil((Date.now() + 1) / 1000) * 1000
    await until('the second to pass', () => Date.now() > then + 1)
    await value(url, 'delete from orders returning id')
    const local = await page.evaluate((ms) => {
      const zone = new Date(ms).getTimezoneOffset() * 60_000
      return new Date(ms - zone).toISOString().slice(0, 19)
    }, then)
    await page.getByLabel('Exactly').fill(local)
    await page.getByLabel('Name of the restored database').fill('rescued')
    expect(await flawsOf(console)).toEqual(NO_FLAWS)
    await page.getByRole('button', { name: /^Restore to / }).click()
    await page.getByRole('heading', { name: 'rescued', level: 1 }).waitFor({ timeout: LONG_MS })
    const restored = page.url().split('/').at(-1)
    const { body } = await offshoot.request('GET', `/v1/databases/${restored}`)
    expect(await value((body as Database).connection_url, 'select count(*)::int from orders')).toBe(1)
    expect(await value(url, 'select count(*)::int from orders')).toBe(0)
  })

  it('says why a time cannot be restored', async () => {
    const { console } = world()
    const { page } = console
    await console.goto(`/databases/${(await shop()).id}/backups`)
    await page.getByLabel('Exactly').fill('2020-01-01T00:00:00')
    await page.getByRole('button', { name: /^Restore to / }).click()
    await page.getByRole('main').getByRole('alert').waitFor()
    expect(await flawsOf(console)).toEqual(NO_FLAWS)
  })

  it('shows statistics and the log, and changes settings', async () => {
    const { console } = world()
    const { page } = console
    await page.getByRole('link', { name: 'Stats' }).click()
    await page.getByRole('heading', { name: 'Slowest statements' }).waitFor()
    expect(await flawsOf(console)).toEqual(NO_FLAWS)
    await page.getByRole('link', { name: 'Logs' }).click()
    await page.getByRole('log', { name: 'Log' }).getByText('column "nmae" does not exist').first().waitFor()
    expect(await flawsOf(console)).toEqual(NO_FLAWS)
    await page.getByRole('link', { name: 'Settings' }).last().click()
    await page.getByLabel('Disk in MiB').fill('1')
    await page.getByRole('button', { name: 'Save' }).click()
    await page
      .getByRole('alert')
      .getByText(/disk_mb/)
      .waitFor()
    expect(await flawsOf(console)).toEqual(NO_FLAWS)
    await page.getByLabel('Disk in MiB').fill('8192')
    await page.getByLabel('Name').fill('market')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('heading', { name: 'market', level: 1 }).waitFor()
  })

  it('deletes a database once its name was typed', async () => {
    const { console } = world()
    const { page } = console
    await page.getByRole('button', { name: 'More actions' }).click()
    await page.getByRole('menuitem', { name: 'Delete' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Type its name to confirm').fill('market')
    await dialog.getByRole('button', { name: 'Delete the database', disabled: false }).waitFor()
    expect(await flawsOf(console)).toEqual(NO_FLAWS)
    await dialog.getByRole('button', { name: 'Delete the database' }).click()
    await page.getByRole('row', { name: /trial/ }).getByText('a deleted database').waitFor()
    expect(await page.getByRole('link', { name: 'market' }).count()).toBe(0)
    await console.goto('/databases/00000000-0000-4000-8000-000000000000')
    await page.getByRole('alert').getByText('Not found').waitFor()
    expect(await flawsOf(console)).toEqual(NO_FLAWS)
  })
}
