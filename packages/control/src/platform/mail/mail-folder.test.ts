import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { call, eventually, Harness, type RunningControl } from '../../test/harness.ts'

let harness: Harness
let control: RunningControl

beforeAll(async () => {
  harness = await Harness.start()
  control = await harness.control([])
})
afterAll(() => harness.stop())

it('has the mails while no server is configured, for root alone', async () => {
  const folder = join(harness.dataDir, 'mail')
  const body = { email: 'olga@example.com', password: 'correct horse', name: 'olga' }
  const headers = { 'content-type': 'application/json' }
  expect((await call(control.url, 'POST', '/api/auth/sign-up/email', { body, headers })).status).toBe(200)
  const file = await eventually(async () => {
    // Names without `.eml` are files that are still being written.
    const names = (await readdir(folder).catch(() => [])).filter((name) => name.endsWith('.eml'))
    const texts = await Promise.all(
      names.map(async (name) => [name, await readFile(join(folder, name), 'utf8')] as const),
    )
    return texts.find(([, text]) => text.includes('To: olga@example.com'))?.[0]
  })
  expect((await stat(join(folder, file))).mode & 0o777).toBe(0o600)
  expect((await stat(folder)).mode & 0o777).toBe(0o700)
})
