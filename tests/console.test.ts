import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { hasBrowser } from './setup/browser.ts'
import { Console } from './setup/console.ts'
import type { Offshoot } from './setup/offshoot.ts'
import { borrow, giveBack } from './setup/server-pool.ts'

/** An entry of the list of sandboxes. */
const sandbox = (n: number) => ({
  id: `${n}`.padStart(8, '0').concat('-0000-4000-8000-000000000000'),
  template: 'minimal',
  status: 'running',
  metadata: { name: `number-${n}` },
  created_at: new Date(1.7e12 - n * 1000).toISOString(),
  expires_at: null,
})

describe.skipIf(!hasBrowser)('the console', () => {
  let offshoot: Offshoot
  let console: Console
  beforeAll(async () => {
    offshoot = await borrow()
    console = await Console.start(offshoot)
    await console.signIn()
  })
  beforeEach(() => {
    console.problems.length = 0
  })
  afterAll(async () => {
    await console?.stop()
    await giveBack()
  })

  const create = async (name: string) => (await offshoot.create({ template: 'minimal', metadata: { name } })).id
  const NARROW = { width: 360, height: 740 }
  const USUAL = { width: 1280, height: 800 }

  it('lists sandboxes, and shows changes by others as they happen', async () => {
    const { page } = console
    await console.goto('/')
    await page.getByRole('heading', { name: 'No sandboxes yet' }).waitFor()
    const hostile = '<img src=x onerror=alert(1)> \u202Egnp.exe'
    const id = await create(hostile)
    await page.getByRole('link', { name: hostile }).waitFor()
    await offshoot.request('POST', `/v1/sandboxes/${id}/pause`)
    await page.getByRole('row').getByText('paused').waitFor()
    expect(await console.violations()).toEqual([])
    await offshoot.delete(id)
    await page.getByRole('heading', { name: 'No sandboxes yet' }).waitFor()
    expect(console.problems).toEqual([])
  })

  it('filters the list, and deletes several at once', async () => {
    const { page } = console
    await Promise.all(['first', 'second', 'third'].map(create))
    await console.goto('/sandboxes')
    await page.getByRole('row', { name: /third/ }).waitFor()
    await page.getByLabel('Filter').fill('name=s')
    await page.getByText('1 of 3').waitFor()
    expect(new URL(page.url()).searchParams.get('q')).toBe('name=s')
    await page.getByLabel('Filter').fill('')
    await page.getByLabel('Select all').check()
    await page.getByRole('button', { name: 'Delete 3' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('heading', { name: 'No sandboxes yet' }).waitFor()
    expect(console.problems).toEqual([])
  })

  it('makes a sandbox by keyboard alone, and shows why it could not', async () => {
    const { page } = console
    await console.goto('/sandboxes')
    await page.getByRole('heading', { name: 'No sandboxes yet' }).waitFor()
    await page.keyboard.press('Control+k')
    await page.keyboard.type('new sandbox')
    await page.keyboard.press('Enter')
    await page.getByLabel('Name').waitFor()
    await page.keyboard.type('typed')
    await page.getByLabel('Environment variables').fill('no assignment')
    await page.keyboard.press('Tab')
    await page.getByLabel('Name').press('Enter')
    await page.getByRole('alert').getByText('"no assignment" is not NAME=value').waitFor()
    await page.getByLabel('Environment variables').fill('A=1')
    await page.getByLabel('Template').selectOption('minimal')
    await page.getByLabel('Name').press('Enter')
    await page.getByRole('heading', { name: 'typed' }).waitFor()
    expect(await console.violations()).toEqual([])
    expect(console.problems).toEqual([])
  })

  it('fits on a phone, and is dark when the system is', { tags: ['long'] }, async () => {
    const { page } = console
    await page.setViewportSize(NARROW)
    await page.emulateMedia({ colorScheme: 'dark' })
    await console.goto('/sandboxes')
    await page.getByRole('row', { name: /typed/ }).waitFor()
    expect(await console.overflowPx()).toBe(0)
    expect(await console.violations()).toEqual([])
    await page.getByRole('button', { name: 'Menu' }).click()
    await page.getByRole('link', { name: 'Sandboxes' }).click()
    await page.getByRole('button', { name: 'Menu', expanded: false }).waitFor()
    await page.emulateMedia({ colorScheme: 'light' })
    await page.setViewportSize(USUAL)
  })

  it.each(['/sandboxes/00000000-0000-4000-8000-000000000000', '/nothing/here'])(
    'says that %s does not exist',
    async (path) => {
      const { page } = console
      await console.goto(path)
      await page
        .getByRole('alert')
        .getByText(/not found/i)
        .first()
        .waitFor()
      expect(await console.violations()).toEqual([])
    },
  )

  it('says without a sign-in what works', async () => {
    const { page } = console
    await console.goto('/status')
    const parts = page.getByRole('region', { name: 'Parts' })
    await parts.getByRole('listitem').filter({ hasText: 'Sandboxes' }).getByText('operational').waitFor()
    await page.getByText('Version').waitFor()
    expect(await parts.getByRole('listitem').count()).toBe(5)
    expect(await console.violations()).toEqual([])
    expect(console.problems).toEqual([])
  })

  it('shows ten thousand sandboxes', { tags: ['long'] }, async () => {
    const { page } = console
    const all = Array.from({ length: 10_000 }, (_, n) => sandbox(n))
    // Only the list is made up: no machine here holds so many.
    await page.route('**/v1/sandboxes?*', async (route) => {
      const from = Number(new URL(route.request().url()).searchParams.get('cursor') ?? 0)
      const next = `<${offshoot.credentials.base_url}/v1/sandboxes?limit=1000&cursor=${from + 1000}>; rel="next"`
      await route.fulfill({
        json: all.slice(from, from + 1000),
        headers: from + 1000 < all.length ? { link: next } : {},
      })
    })
    await console.goto('/sandboxes')
    await page.getByText('number-0', { exact: true }).waitFor()
    await page.getByRole('region', { name: 'Sandboxes' }).evaluate((scroller) => scroller.scrollTo(0, 1e9))
    await page.getByText('number-9999', { exact: true }).waitFor()
    expect(await page.getByRole('row').count()).toBeLessThan(100)
    await page.getByLabel('Filter').fill('number-77')
    await page.getByText('111 of 10000').waitFor()
    await page.unroute('**/v1/sandboxes?*')
  })
})
