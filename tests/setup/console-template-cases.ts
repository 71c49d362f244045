import { busyboxRoot } from '@offshoot/agent/test/busybox-root'
import { tarArchive } from '@offshoot/agent/test/tar-archive'
import type { Locator } from 'playwright-core'
import { expect, it } from 'vitest'
import { flawsOf, NO_FLAWS } from './console-flaws.ts'
import type { ConsoleWorld } from './console-world.ts'

/** Milliseconds for work of VMs on an emulated CPU of a busy machine. */
export const LONG_MS = 120_000

/** Drops a file on a part of the page. */
async function drop(target: Locator, name: string, content: Buffer): Promise<void> {
  const file = `new File([Uint8Array.from(atob('${content.toString('base64')}'), (byte) => byte.charCodeAt(0))], '${name}')`
  const dataTransfer = await target
    .page()
    .evaluateHandle(`{ const transfer = new DataTransfer(); transfer.items.add(${file}); transfer }`)
  await target.dispatchEvent('dragover', { dataTransfer })
  await target.dispatchEvent('drop', { dataTransfer })
}

/** The pages of templates and builds. */
export function consoleTemplateCases(world: () => ConsoleWorld): void {
  it('lists the templates of the service, and says that no build was made', async () => {
    const { console } = world()
    const { page } = console
    await console.goto('/templates')
    await page.getByRole('table', { name: 'Templates' }).getByRole('link', { name: 'minimal' }).waitFor()
    await page.getByText('No builds yet.').waitFor()
    expect(await flawsOf(console)).toEqual(NO_FLAWS)
  })

  it('builds a template from a dropped archive, with its log as it is written', async () => {
    const { console } = world()
    const { page } = console
    await page.getByRole('button', { name: 'Build a template' }).click()
    const dialog = page.getByRole('dialog')
    await drop(dialog.getByText('Drop an archive here'), 'my box.tar', tarArchive(await busyboxRoot()))
    await dialog.getByText('my box.tar').waitFor()
    expect(await dialog.getByLabel('Name', { exact: true }).inputValue()).toBe('my-box')
    expect(await flawsOf(console)).toEqual(NO_FLAWS)
    await dialog.getByLabel('Disk in MiB').fill('32')
    await dialog.getByLabel('Memory in MiB').fill('1')
    await dialog.getByRole('button', { name: 'Upload and build' }).click()
    await dialog
      .getByRole('alert')
      .getByText(/memory_mb/)
      .waitFor()
    await dialog.getByLabel('Memory in MiB').fill('128')
    await dialog.getByRole('button', { name: 'Upload and build' }).click()
    await page.getByRole('heading', { name: 'Build of my-box' }).waitFor()
    await page.getByRole('log', { name: 'Log' }).waitFor({ timeout: LONG_MS })
    await page.getByText(/lines?, complete/).waitFor({ timeout: LONG_MS })
    await page.locator('[aria-current=step]').getByText('done').waitFor()
    expect(await page.getByRole('progressbar', { name: 'Progress' }).getAttribute('aria-valuenow')).toBe('100')
    await page
      .getByRole('log')
      .getByText(/booting/)
      .first()
      .waitFor()
    await page.getByLabel('Filter the log').fill('no line has this')
    await page.getByText('0 lines, complete').waitFor()
    await page.getByLabel('Filter the log').fill('')
    expect(await flawsOf(console)).toEqual(NO_FLAWS)
  })

  it('starts a sandbox from the template, and refuses another build of its name', async () => {
    const { console, offshoot } = world()
    const { page } = console
    await page.getByRole('link', { name: 'Open the template' }).click()
    await page.getByRole('heading', { name: 'my-box', level: 1 }).waitFor()
    await page.getByRole('table', { name: 'Builds' }).getByText('done').waitFor()
    expect(await flawsOf(console)).toEqual(NO_FLAWS)
    await page.getByRole('button', { name: 'Build again' }).click()
    const dialog = page.getByRole('dialog')
    // A file can also be chosen, which works by keyboard.
    const buffer = tarArchive(await busyboxRoot())
    await dialog.getByLabel('Archive').setInputFiles({ name: 'x.tar', mimeType: 'application/x-tar', buffer })
    expect(await dialog.getByLabel('Name', { exact: true }).inputValue()).toBe('my-box')
    await dialog.getByLabel('Replace my template of that name').uncheck()
    await dialog.getByRole('button', { name: 'Upload and build' }).click()
    await dialog
      .getByRole('alert')
      .getByText(/exists|taken|already/)
      .waitFor()
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    await page.getByRole('button', { name: 'New sandbox' }).click()
    await page.waitForURL(/\/sandboxes\/[0-9a-f-]{36}/)
    const [made] = (await offshoot.request('GET', '/v1/sandboxes')).body as { id: string; template: string }[]
    expect(made?.template).toBe('my-box')
    await offshoot.delete(made?.id ?? '')
  })

  it('shows why a build failed', async () => {
    const { console } = world()
    const { page } = console
    await console.goto('/templates')
    await page.getByRole('button', { name: 'Build a template' }).click()
    const dialog = page.getByRole('dialog')
    await drop(dialog.getByText('Drop an archive here'), 'broken.tar', Buffer.from('no archive'))
    await dialog.getByRole('button', { name: 'Upload and build' }).click()
    await page.getByRole('heading', { name: 'Build of broken' }).waitFor()
    await page.getByRole('alert').waitFor({ timeout: LONG_MS })
    await page.getByText('failed', { exact: true }).first().waitFor()
    expect(await flawsOf(console)).toEqual(NO_FLAWS)
    await page.getByRole('link', { name: 'Open the template' }).click()
    await page.getByText('There is no template of this name').waitFor()
    expect(await flawsOf(console)).toEqual(NO_FLAWS)
  })

  it('deletes a template once its name was typed, and keeps the list of its builds', async () => {
    const { console } = world()
    const { page } = console
    await console.goto('/templates/my-box')
    await page.getByRole('button', { name: 'Delete' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Type its name to confirm').fill('my-bo')
    expect(await dialog.getByRole('button', { name: 'Delete the template' }).isEnabled()).toBe(false)
    await dialog.getByLabel('Type its name to confirm').fill('my-box')
    await dialog.getByRole('button', { name: 'Delete the template' }).click()
    await page.getByRole('heading', { name: 'Templates', level: 1 }).waitFor()
    await page.getByRole('table', { name: 'Builds' }).getByRole('link', { name: 'my-box' }).waitFor()
    expect(await page.getByRole('table', { name: 'Templates' }).getByRole('link', { name: 'my-box' }).count()).toBe(0)
    expect(await flawsOf(console)).toEqual(NO_FLAWS)
  })
}
