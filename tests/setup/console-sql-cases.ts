import { expect, it } from 'vitest'
import { flawsOf, NO_FLAWS } from './console-flaws.ts'
import type { ConsoleWorld } from './console-world.ts'

const SCRIPT = `create table people (id int primary key, name text);
insert into people select n, 'person ' || n from generate_series(1, 1500) n;
select * from people order by id`

/** The SQL editor of a database. */
export function consoleSqlCases(world: () => ConsoleWorld): void {
  const editor = () => world().console.page.getByRole('textbox', { name: 'SQL' })
  const run = async (sql: string) => {
    await editor().fill(sql)
    await editor().press('Control+Enter')
  }

  it('runs several statements as one transaction, and shows their results', async () => {
    const { console } = world()
    const { page } = console
    await console.goto('/databases')
    await page.getByRole('link', { name: 'shop' }).last().click()
    await page.getByRole('link', { name: 'SQL' }).click()
    await page.getByText('No tables yet.').waitFor()
    expect(await flawsOf(console)).toEqual(NO_FLAWS)
    await run(SCRIPT)
    await page.getByRole('region', { name: 'Result 2' }).getByText('INSERT 1500').waitFor()
    await page.getByRole('region', { name: 'Result 3' }).getByText('more than 1000 rows').waitFor()
    await page.getByRole('cell', { name: 'person 1', exact: true }).waitFor()
    // Only rows in view are in the page.
    expect(await page.getByRole('table', { name: 'Rows of result 3' }).getByRole('row').count()).toBeLessThan(200)
    await page.getByRole('region', { name: 'Tables' }).getByText('people', { exact: true }).click()
    await page.getByRole('region', { name: 'Tables' }).getByText('integer').waitFor()
    expect(await flawsOf(console)).toEqual(NO_FLAWS)
  })

  it('marks the place of an error', async () => {
    const { console } = world()
    const { page } = console
    await run('select id,\n  nmae from people')
    const alert = page.getByRole('main').getByRole('alert')
    await alert.getByText('column "nmae" does not exist').waitFor()
    await page.getByText(/At line 2, column 3.*SQLSTATE 42703/).waitFor()
    expect(await page.locator('.sql-error').textContent()).toBe('nmae')
    expect(await flawsOf(console)).toEqual(NO_FLAWS)
  })

  it('closes the list of completions when the statement runs', async () => {
    const { page } = world().console
    await editor().fill('')
    await editor().pressSequentially('select count(*) as people_there from peo')
    await page.getByRole('listbox').getByText('people').first().waitFor()
    await editor().pressSequentially('ple')
    await editor().press('Control+Enter')
    await page.getByRole('cell', { name: '1500' }).waitFor()
    expect(await page.getByRole('listbox').count()).toBe(0)
  })

  it('shows the plan of a statement, and runs none that writes', async () => {
    const { console } = world()
    const { page } = console
    await editor().fill('select * from people where id = 7')
    await page.getByRole('button', { name: 'Explain' }).click()
    const plan = page.getByRole('list', { name: 'Plan' })
    await plan
      .getByText(/Scan on people/)
      .first()
      .waitFor()
    await page.getByText('run in a transaction that cannot write').waitFor()
    expect(await flawsOf(console)).toEqual(NO_FLAWS)
    await editor().fill('delete from people')
    await page.getByRole('button', { name: 'Explain' }).click()
    await plan
      .getByText(/on people/)
      .first()
      .waitFor()
    await page.getByText('it was planned and not run').waitFor()
    await run('select count(*) from people')
    await page.getByRole('cell', { name: '1500' }).waitFor()
    expect(console.problems).toEqual([])
  })

  it('keeps what was run, and takes it back into the editor', async () => {
    const { console } = world()
    const { page } = console
    await page.getByRole('button', { name: 'History' }).click()
    const history = page.getByRole('region', { name: 'History' })
    await history.getByText('explained').first().waitFor()
    expect(await flawsOf(console)).toEqual(NO_FLAWS)
    await history.getByRole('button', { name: /select id/ }).click()
    await editor().getByText('nmae').waitFor()
    await page.getByRole('button', { name: 'History' }).click()
    await history.getByRole('button', { name: 'Clear' }).click()
    await page.getByText('Nothing was run here yet.').waitFor()
  })
}
