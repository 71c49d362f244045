import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { resolve } from 'node:path'
import { promisify } from 'node:util'
import type { Page } from 'playwright-core'
import { type Answer, call } from './http.ts'
import type { Offshoot } from './offshoot.ts'

const run = promisify(execFile)
const up = resolve(import.meta.dirname, '../../bin/up')

export interface Account {
  readonly email: string
  readonly password: string
}

/** A new link that signs in to the console once. */
export async function signInLink({ dataDir }: Offshoot): Promise<string> {
  const { stdout } = await run(up, ['--sign-in-link', '--data-dir', dataDir])
  return stdout.trim()
}

/** Fills in the form of the sign-in by keyboard alone. */
export async function signInByKeyboard(page: Page, { email, password }: Account): Promise<void> {
  await page.getByLabel('Email').focus()
  await page.keyboard.type(email)
  await page.keyboard.press('Tab')
  await page.keyboard.type(password)
  await page.keyboard.press('Enter')
}

/** Makes the account of another user. */
export async function signUp(offshoot: Offshoot): Promise<Account> {
  const account = { email: `${randomUUID()}@example.com`, password: randomUUID(), name: 'Ina' }
  const url = `${offshoot.credentials.base_url}/api/auth/sign-up/email`
  const { status, text } = await call('POST', url, { body: account })
  if (status !== 200) throw new Error(`the sign-up answered ${status}: ${text}`)
  return account
}

const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

/** Sends a request as the first user in the first workspace. */
export async function asOwner(offshoot: Offshoot, method: string, path: string, body?: unknown): Promise<Answer> {
  const { base_url: url, email, password } = offshoot.credentials
  const session = await call('POST', `${url}/api/auth/sign-in/email`, { body: { email, password } })
  const { body: made } = await call('GET', `${url}/api/auth/token`, { headers: bearer(session.body.token) })
  return call(method, url + path, { headers: bearer(made.token), ...(body !== undefined && { body }) })
}
