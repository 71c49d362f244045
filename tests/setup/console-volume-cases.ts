import { expect, it } from 'vitest'
import { flawsOf, NO_FLAWS } from './console-flaws.ts'
import type { ConsoleWorld } from './console-world.ts'

/** The pages of volumes. */
export function consoleVolumeCases(world: () => ConsoleWorld): void {
  it('makes a volume, and says why it could not', async () => {
    const { console } = world()
    const { page } = console
    await console.goto('/volumes')
    await page.getByRole('heading', { name: 'No volumes yet' }).waitFor()
    expect(await flawsOf(console)).toEqual(NO_FLAWS)
    await page.getByRole('button', { name: 'New volume' }).first().click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Name').fill('data')
    await dialog.getByLabel('Size in MiB').fill('0')
    await dialog.getByRole('button', { name: 'Create' }).click()
    await dialog
      .getByRole('alert')
      .getByText(/size_mb/)
      .waitFor()
    expect(await flawsOf(console)).toEqual(NO_FLAWS)
    await dialog.getByLabel('Size in MiB').fill('16')
    await dialog.getByLabel('Size in MiB').press('Enter')
    await page.getByRole('heading', { name: 'data', level: 1 }).waitFor()
    await page.getByRole('region', { name: 'About' }).getByText('16.0 MiB').waitFor()
    await page.getByText('No snapshots yet.').waitFor()
    expect(await flawsOf(console)).toEqual(NO_FLAWS)
  })

  it('grows a volume, and does not shrink it', async () => {
    const { page } = world().console
    await page.getByRole('button', { name: 'Resize' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('New size in MiB').fill('8')
    await dialog.getByRole('button', { name: 'Resize' }).click()
    await dialog.getByRole('alert').getByText('a volume does not shrink').waitFor()
    await dialog.getByLabel('New size in MiB').fill('32')
    await dialog.getByRole('button', { name: 'Resize' }).click()
    await page.getByRole('region', { name: 'About' }).getByText('32.0 MiB').waitFor()
    expect(await page.getByRole('dialog').count()).toBe(0)
  })

  it('keeps snapshots of a volume, and makes volumes from them and from each other', async () => {
    const { console } = world()
    const { page } = console
    await page.getByRole('button', { name: 'Take a snapshot' }).click()
    const snapshots = page.getByRole('table', { name: 'Snapshots' })
    await snapshots.getByText('32.0 MiB').waitFor()
    expect(await flawsOf(console)).toEqual(NO_FLAWS)
    await page.getByRole('button', { name: 'New volume from this snapshot' }).click()
    await page.getByRole('dialog').getByLabel('Name').fill('again')
    await page.getByRole('dialog').getByRole('button', { name: 'Create' }).click()
    await page.getByRole('heading', { name: 'again', level: 1 }).waitFor()
    await page.getByRole('button', { name: 'Clone' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Clone' }).click()
    await page.getByRole('heading', { name: 'again-copy', level: 1 }).waitFor()
    await console.goto('/volumes/data')
    await page.getByRole('button', { name: 'Delete this snapshot' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await page.getByText('No snapshots yet.').waitFor()
    expect(console.problems).toEqual([])
  })

  it('shows who uses a volume, which keeps it from being deleted', async () => {
    const { console, offshoot } = world()
    const { page } = console
    const { id } = await offshoot.create({ template: 'minimal', volumes: [{ name: 'data' }] })
    await console.goto('/volumes')
    const row = page.getByRole('row', { name: /^data / })
    await row.getByText('writes').waitFor()
    expect(await flawsOf(console)).toEqual(NO_FLAWS)
    await row.getByRole('link', { name: 'data', exact: true }).click()
    await page.getByRole('button', { name: 'Delete', exact: true }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('A sandbox has it attached.').waitFor()
    await dialog.getByLabel('Type its name to confirm').fill('data')
    await dialog.getByRole('button', { name: 'Delete the volume' }).click()
    await dialog.getByRole('alert').waitFor()
    expect(await flawsOf(console)).toEqual(NO_FLAWS)
    await offshoot.delete(id)
    await dialog.getByRole('button', { name: 'Delete the volume' }).click()
    await page.getByRole('heading', { name: 'Volumes', level: 1 }).waitFor()
    await page.getByRole('link', { name: 'again-copy' }).waitFor()
    await page.getByRole('link', { name: 'data', exact: true }).waitFor({ state: 'detached' })
    await console.goto('/volumes/data')
    await page.getByRole('alert').getByText('Not found').waitFor()
    expect(await flawsOf(console)).toEqual(NO_FLAWS)
  })
}
