import { WebhookReceiver } from '@offshoot/control/test/webhook-receiver'
import { verify } from '@offshoot/control/test/webhook-setup'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { flawsOf, NO_FLAWS } from './console-flaws.ts'
import type { ConsoleWorld } from './console-world.ts'
import { until } from './until.ts'

/** The pages of webhooks. */
export function consoleWebhookCases(world: () => ConsoleWorld): void {
  let receiver: WebhookReceiver
  let secret: string
  beforeAll(async () => {
    receiver = await WebhookReceiver.start()
  })
  afterAll(() => receiver?.stop())

  it('makes a webhook, and shows its secret once', async () => {
    const { console } = world()
    const { page } = console
    await console.goto('/webhooks')
    await page.getByRole('heading', { name: 'No webhooks yet' }).waitFor()
    expect(await flawsOf(console)).toEqual(NO_FLAWS)
    await page.getByRole('button', { name: 'New webhook' }).first().click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Address').fill('ftp://example.com/hook')
    await dialog.getByLabel('sandbox.*').check()
    await dialog.getByRole('button', { name: 'Create' }).click()
    await dialog.getByRole('alert').waitFor()
    expect(await flawsOf(console)).toEqual(NO_FLAWS)
    await dialog.getByLabel('Address').fill(receiver.url('/hook'))
    await dialog.getByRole('button', { name: 'Create' }).click()
    secret = (await dialog.getByLabel('Secret', { exact: true }).textContent()) ?? ''
    expect(await flawsOf(console)).toEqual(NO_FLAWS)
    await dialog.getByRole('button', { name: 'I have copied it' }).click()
    expect(await page.getByText(secret).count()).toBe(0)
    await page
      .getByRole('row', { name: /sandbox\.\*/ })
      .getByText('enabled')
      .waitFor()
    expect(await flawsOf(console)).toEqual(NO_FLAWS)
  })

  it('sends a test message, and shows what was answered', async () => {
    const { console } = world()
    const { page } = console
    await page.getByRole('link', { name: receiver.url('/hook') }).click()
    await page.getByText('None yet. Send a test message').waitFor()
    expect(await flawsOf(console)).toEqual(NO_FLAWS)
    await page.getByRole('button', { name: 'Test', exact: true }).click()
    const got = await until('the test message', () => receiver.at('/hook')[0])
    expect(verify(secret, got)).toMatchObject({ type: 'webhook.test' })
    const row = page.getByRole('row', { name: /webhook\.test/ })
    await until('the answer', async () => {
      await page.getByRole('button', { name: 'Refresh' }).click()
      return row.getByText('delivered').isVisible()
    })
    expect(await flawsOf(console)).toEqual(NO_FLAWS)
  })

  it('shows a message that failed, and sends it again', async () => {
    const { console } = world()
    const { page } = console
    receiver.answers.set('/hook', 410)
    await page.getByRole('button', { name: 'Test', exact: true }).click()
    await until('the refusal', async () => {
      await page.getByRole('button', { name: 'Refresh' }).click()
      return page.getByRole('row', { name: /410/ }).isVisible()
    })
    await console.goto(new URL(page.url()).pathname)
    await page.getByText('disabled: the address answered 410').waitFor()
    expect(await flawsOf(console)).toEqual(NO_FLAWS)
    receiver.answers.delete('/hook')
    await page.getByRole('button', { name: 'Enable' }).click()
    await page.getByText('enabled', { exact: true }).waitFor()
    const before = receiver.at('/hook').length
    await page.getByRole('row', { name: /410/ }).getByRole('button', { name: 'webhook.test' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('answer 410').waitFor()
    expect(await flawsOf(console)).toEqual(NO_FLAWS)
    await dialog.getByRole('button', { name: 'Send again' }).click()
    await until('the message once more', () => receiver.at('/hook').length > before)
    await until('the answer', async () => {
      await dialog.getByRole('button', { name: 'Refresh' }).click()
      return dialog.getByText('delivered').isVisible()
    })
    await dialog.getByRole('button', { name: 'Close' }).click()
  })

  it('changes the secret and deletes the webhook', async () => {
    const { console } = world()
    const { page } = console
    const dialog = page.getByRole('dialog')
    await page.getByRole('button', { name: 'More actions' }).click()
    await page.getByRole('menuitem', { name: 'New secret' }).click()
    await dialog.getByRole('button', { name: 'Make a new secret' }).click()
    expect(await dialog.getByLabel('Secret', { exact: true }).textContent()).not.toBe(secret)
    await dialog.getByRole('button', { name: 'I have copied it' }).click()
    await page.getByText('The old secret signs too until').waitFor()
    await page.getByRole('button', { name: 'More actions' }).click()
    await page.getByRole('menuitem', { name: 'Delete' }).click()
    await dialog.getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('heading', { name: 'No webhooks yet' }).waitFor()
    expect(console.problems).toEqual([])
  })
}
