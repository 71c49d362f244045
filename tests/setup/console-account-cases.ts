import { createHmac } from 'node:crypto'
import { expect, it } from 'vitest'
import { flawsOf, NO_FLAWS } from './console-flaws.ts'
import type { ConsoleWorld } from './console-world.ts'

const STEP_MS = 30_000
const BASE32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'

/** The code that an authenticator app shows now (RFC 6238). */
function codeOf(secret: string): string {
  const bits = Array.from(secret, (letter) => BASE32.indexOf(letter).toString(2).padStart(5, '0')).join('')
  const key = Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)))
  const counter = Buffer.alloc(8)
  counter.writeBigUInt64BE(BigInt(Math.floor(Date.now() / STEP_MS)))
  const hash = createHmac('sha1', key).update(counter).digest()
  const from = (hash.at(-1) ?? 0) & 15
  return String((hash.readUInt32BE(from) & 0x7f_ff_ff_ff) % 1_000_000).padStart(6, '0')
}

/** The settings of the account. */
export function consoleAccountCases(world: () => ConsoleWorld): void {
  it('changes the name and the theme', async () => {
    const { console } = world()
    const { page } = console
    await console.goto('/settings/account')
    await page.getByLabel('Name', { exact: true }).fill('Ada')
    await page.getByRole('region', { name: 'You' }).getByRole('button', { name: 'Save' }).click()
    await page.getByText('Saved').waitFor()
    expect(await flawsOf(console)).toEqual(NO_FLAWS)
    await page.getByLabel('Dark').check()
    expect(await flawsOf(console)).toEqual(NO_FLAWS)
    await page.getByLabel(/system/i).check()
  })

  it('says why a browser makes no passkey for an address that is no name', async () => {
    const { console } = world()
    const { page } = console
    await page.getByText('None. A passkey signs you in').waitFor()
    await page.getByRole('button', { name: 'Add a passkey' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Name').fill('laptop')
    await dialog.getByRole('button', { name: 'Add' }).click()
    await dialog.getByRole('alert').getByText('invalid domain').waitFor()
    expect(await flawsOf(console)).toEqual(NO_FLAWS)
    await dialog.getByRole('button', { name: 'Cancel' }).click()
  })

  it('switches a second factor on, and off', async () => {
    const { console, offshoot } = world()
    const { page } = console
    const dialog = page.getByRole('dialog')
    await page.getByRole('button', { name: 'Switch on' }).click()
    await dialog.getByLabel('Password').fill('a wrong password')
    await dialog.getByRole('button', { name: 'Next' }).click()
    await dialog.getByRole('alert').waitFor()
    await dialog.getByLabel('Password').fill(offshoot.credentials.password)
    await dialog.getByRole('button', { name: 'Next' }).click()
    await dialog.getByRole('img', { name: 'QR code for the authenticator app' }).waitFor()
    expect(await flawsOf(console)).toEqual(NO_FLAWS)
    const secret = (await dialog.getByLabel('Without a camera', { exact: true }).textContent()) ?? ''
    await dialog.getByLabel('Code', { exact: true }).fill(codeOf(secret))
    await dialog.getByRole('button', { name: 'Switch on' }).click()
    await dialog.getByRole('heading', { name: 'Recovery codes' }).waitFor()
    expect(await flawsOf(console)).toEqual(NO_FLAWS)
    await dialog.getByRole('button', { name: 'I have kept them' }).click()
    await page.getByRole('button', { name: 'Switch off' }).click()
    await dialog.getByLabel('Password').fill(offshoot.credentials.password)
    await dialog.getByRole('button', { name: 'Switch off' }).click()
    await page.getByRole('button', { name: 'Switch on' }).waitFor()
  })

  it('deletes no account with a wrong password', async () => {
    const { console } = world()
    const { page } = console
    await page.getByRole('button', { name: 'Delete', exact: true }).click()
    await page.getByRole('dialog').getByLabel('Password').fill('a wrong password')
    await page.getByRole('dialog').getByRole('button', { name: 'Delete the account' }).click()
    await page.getByRole('dialog').getByRole('alert').waitFor()
    expect(await flawsOf(console)).toEqual(NO_FLAWS)
  })
}
