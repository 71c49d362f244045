/** @module-tag long */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { call } from './setup/http.ts'
import { Offshoot } from './setup/offshoot.ts'

const execute = promisify(execFile)
const PLANTED = 'planted7f3a9c'
/** Each stands in a place where a secret is. */
const planted = (place: string) => `${PLANTED}-${place}`

let offshoot: Offshoot
let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'offshoot-support-'))
  const smtp = { host: '127.0.0.1', port: 1, user: planted('user'), password: planted('smtp') }
  const oidc = { id: 'acme', issuer: 'http://127.0.0.1:1', client_id: 'c', client_secret: planted('oidc') }
  offshoot = await Offshoot.start('support', {
    settings: { mail: { from: 'Offshoot <noreply@example.com>', smtp }, oidc_providers: [oidc] },
  })
})
afterAll(async () => {
  await offshoot?.destroy()
  await rm(folder, { recursive: true })
})

/** Everything that is secret in the data directory, in the forms in which it is written. */
async function secrets(): Promise<string[]> {
  const names = await readdir(join(offshoot.dataDir, 'secrets'))
  const files = await Promise.all(names.map((name) => readFile(join(offshoot.dataDir, 'secrets', name), 'utf8')))
  const keys = files.map((each) => Buffer.from(each, 'base64'))
  const accounts = await readFile(join(offshoot.dataDir, 'control/accounts-secret'))
  const credentials = JSON.parse(await readFile(join(offshoot.dataDir, 'credentials.json'), 'utf8'))
  return [
    ...keys.flatMap((key) => [key.toString('base64'), key.toString('base64url'), key.toString('hex')]),
    accounts.toString('latin1').trim(),
    ...['api_key', 'jwt', 'password', 'email', 'operator_key', 'e2b_api_key'].map(
      (name) => credentials[name] as string,
    ),
  ]
}

it('bin/up support-bundle has what helps, and no secret', async () => {
  const { id } = await offshoot.create({
    template: 'minimal',
    env: { A: planted('env') },
    metadata: { name: planted('tag') },
  })
  await offshoot.exec(id, `echo ${planted('command')}; cat /nothing`, { env: { B: planted('exec-env') } })
  await offshoot.request('PUT', `/v1/sandboxes/${id}/fs?path=/root/${planted('path')}`, {
    body: { x: planted('body') },
  })
  // Refused requests are those that a log may quote.
  await offshoot.request('GET', `/v1/sandboxes?token=${planted('query')}`)
  await offshoot.request('GET', '/v1/sandboxes', { headers: { authorization: `Bearer ${planted('bearer')}` } })
  const { base_url: base } = offshoot.credentials
  const password = { email: `${planted('mail')}@example.com`, password: planted('password'), name: planted('name') }
  const headers = { origin: base }
  for (let time = 0; time < 2; time++) await call('POST', `${base}/api/auth/sign-up/email`, { headers, body: password })
  await call('POST', `${base}/api/auth/sign-in/email`, { headers, body: password })

  const up = resolve(import.meta.dirname, '../bin/up')
  const child = spawn(up, ['support-bundle', folder, '--data-dir', offshoot.dataDir], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')])
  expect([child.exitCode, errors]).toEqual([0, ''])
  const [, path = ''] = /^(\S+offshoot-support-\d{8}T\d{6}Z\.tar\.gz) \(\d+ KiB\)\n$/.exec(output) ?? []
  expect((await stat(path)).mode & 0o777).toBe(0o600)

  const unpacked = join(folder, 'unpacked')
  await mkdir(unpacked)
  await execute('tar', ['-xzf', path, '-C', unpacked])
  const names = (await readdir(unpacked, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile())
  const files = new Map<string, string>()
  for (const { parentPath, name } of names) {
    const file = join(parentPath, name)
    files.set(file.slice(unpacked.length + 1), await readFile(file, 'utf8'))
  }
  const parsed = (name: string) => JSON.parse(files.get(name) ?? 'null')
  expect([...files.keys()]).toEqual(expect.arrayContaining(['logs/agent.log', 'logs/control.log', 'logs/postgres.log']))
  expect(parsed('versions.json')).toMatchObject({
    version: expect.any(String),
    schema: expect.stringMatching(/^\d{4}-/),
  })
  expect(parsed('doctor.json')).toEqual(expect.arrayContaining([expect.objectContaining({ check: 'memory' })]))
  expect(parsed('health.json')).toMatchObject({ status: 200, body: { checks: { agents: 'ok' } } })
  expect(parsed('sizes.json')).toMatchObject({ objects: { sandboxes: 1 }, folders: { postgres: expect.any(Number) } })
  expect(parsed('database.json')).toMatchObject({
    tables: expect.arrayContaining([expect.objectContaining({ name: 'sandboxes', bytes: expect.any(Number) })]),
    jobs: expect.any(Array),
  })
  expect(parsed('config/control.json')).toMatchObject({ log_level: 'info', database: { password: '(removed)' } })
  expect(parsed('settings.json')).toMatchObject({ mail: { smtp: { host: '127.0.0.1', password: '(removed)' } } })
  expect(files.get('logs/control.log')?.split('\n').length).toBeGreaterThan(1)

  const secretValues = await secrets()
  expect(secretValues.every(({ length }) => length > 5)).toBe(true)
  const leaks = [...files].flatMap(([name, content]) =>
    [PLANTED, ...secretValues].filter((secret) => content.includes(secret)).map((secret) => `${secret} in ${name}`),
  )
  expect(leaks).toEqual([])
})
