/** @module-tag long */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { hasBrowser } from './setup/browser.ts'
import { Console } from './setup/console.ts'
import type { Offshoot } from './setup/offshoot.ts'
import { borrow, giveBack } from './setup/server-pool.ts'

describe.skipIf(!hasBrowser)('the lineage page', () => {
  let offshoot: Offshoot
  let console: Console
  let root: string
  beforeAll(async () => {
    offshoot = await borrow()
    console = await Console.start(offshoot)
    await console.signIn()
    root = (await offshoot.create({ template: 'minimal', metadata: { name: 'root' } })).id
  })
  afterAll(async () => {
    await console?.stop()
    await giveBack()
  })

  const picture = () => console.page.getByRole('application', { name: 'Lineage' })
  const node = (name: RegExp) => picture().getByRole('group', { name })

  it('forks from a node, and shows the children', async () => {
    const { page } = console
    await console.goto(`/sandboxes/${root}/lineage`)
    await node(/sandbox root, running/).click()
    await page.getByRole('status').getByText('sandbox root').waitFor()
    await page.getByRole('main').getByRole('button', { name: 'Fork' }).last().click()
    await page.getByLabel('Children').fill('17')
    await page.getByText('A number from 1 to 16.').waitFor()
    await page.getByLabel('Children').fill('3')
    await page.getByRole('dialog').getByRole('button', { name: 'Fork' }).click()
    await node(/sandbox root [0-9a-f]{4}, running/)
      .nth(3)
      .waitFor()
    expect(await console.violations()).toEqual([])
  })

  it('runs a command in all leaves, and shows where they differ', async () => {
    const { page } = console
    const { body } = await offshoot.request('GET', '/v1/sandboxes')
    const children = (body as { id: string; parent_id: string | null }[]).filter((each) => each.parent_id === root)
    for (const [index, { id }] of children.entries())
      await offshoot.exec(id, `echo ${index === 0 ? 'odd' : 'even'} >/answer; echo ${index} >"/only <b>${index}"`)
    await page.getByRole('textbox', { name: 'Command' }).fill('cat /answer; test "$(cat /answer)" = even')
    await page.getByRole('button', { name: 'Run', exact: true }).click()
    await page.getByRole('table', { name: 'Results' }).getByText('exit code 0').nth(1).waitFor()
    await page.getByRole('table', { name: 'Results' }).getByText('exit code 1').waitFor()
    await page.getByRole('cell', { name: 'B', exact: true }).waitFor()
    const outputs = page.locator('.cm-content')
    await outputs.getByText('even').waitFor()
    await outputs.getByText('odd').waitFor()

    await page.getByRole('button', { name: 'Compare' }).click()
    const files = page.getByRole('table', { name: 'Changed files' })
    await files.getByRole('button', { name: '/only <b>1' }).waitFor()
    expect(await files.getByText('/etc/hostname').count()).toBe(0)
    await files.getByRole('button', { name: '/answer' }).click()
    await page.getByLabel('In', { exact: true }).selectOption({ index: 1 })
    await page.getByLabel('beside', { exact: true }).selectOption({ index: 2 })
    await page.getByRole('heading', { name: '/answer' }).waitFor()
    expect(await console.violations()).toEqual([])
    expect(console.problems).toEqual([])
  })

  it('promotes one, and its siblings go', async () => {
    const { page } = console
    await node(/sandbox root [0-9a-f]{4}, running/)
      .last()
      .click()
    await page.getByRole('button', { name: 'Promote' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Promote' }).click()
    await page.getByRole('dialog').waitFor({ state: 'hidden' })
    await page.getByText('Show all deleted').waitFor()
    expect(await picture().getByRole('group').count()).toBe(2)
    await page.getByLabel('Show all deleted').check()
    await node(/sandbox root [0-9a-f]{4}, deleted/)
      .nth(1)
      .waitFor()
    expect(((await offshoot.request('GET', '/v1/sandboxes')).body as unknown[]).length).toBe(2)
    expect(console.problems).toEqual([])
  })

  it('shows what a sandbox and a snapshot take, and who was promoted already', async () => {
    const { page } = console
    await offshoot.request('POST', `/v1/sandboxes/${root}/snapshots`, { body: { name: 'kept' } })
    await node(/snapshot kept, ready/)
      .getByText('disk')
      .waitFor()
    await node(/sandbox root [0-9a-f]{4}, running/)
      .last()
      .click()
    const status = page.getByRole('status')
    await status.getByText(/a fork, .* memory · .* disk/).waitFor()
    expect(await page.getByRole('button', { name: 'Promote' }).count()).toBe(0)
  })

  it('keeps siblings together after their ancestor is deleted', async () => {
    const { page } = console
    const fork = async (name: string) =>
      (
        (await offshoot.request('POST', `/v1/sandboxes/${root}/fork`, { body: { metadata: { name } } })).body as {
          id: string
        }
      ).id
    const one = await fork('one')
    await fork('two')
    await console.goto(`/sandboxes/${one}/lineage`)
    await node(/sandbox two, running/).waitFor()
    await offshoot.request('DELETE', `/v1/sandboxes/${root}`)
    await node(/sandbox root [0-9a-f]{4}, deleted/).waitFor()
    await node(/sandbox two, running/).waitFor()
    // A line from each child leads to the deleted one.
    expect(await picture().locator('[data-child]').count()).toBeGreaterThanOrEqual(3)
    await node(/sandbox root [0-9a-f]{4}, deleted/).click()
    await page.getByRole('status').getByText('deleted').waitFor()
    // Only the button of the sandbox whose page this is.
    expect(await page.getByRole('button', { name: 'Fork' }).count()).toBe(1)
    expect(console.problems).toEqual([])
  })
})
