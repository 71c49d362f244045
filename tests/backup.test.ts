/** @module-tag long */
/** Control's machine is lost: its database, settings and secrets are gone, and the host with its VMs remains. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { connected, type Database, value } from './setup/database.ts'
import { Offshoot } from './setup/offshoot.ts'
import { until } from './setup/until.ts'

const program = resolve(import.meta.dirname, '../bin/up')
/** What control's machine has, in the data directory that it shares with the agent here. */
const LOST = ['postgres', 'secrets', 'control', 'edge', 'config', 'credentials.json', 'settings.json', 'up.json']

let offshoot: Offshoot
let folder: string
let passphraseFile: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'offshoot-backup-'))
  passphraseFile = join(folder, 'passphrase')
  await writeFile(passphraseFile, 'correct horse\n')
  offshoot = await Offshoot.start('backup', { templates: ['minimal', 'postgres-16'], settings: { sign_up: 'closed' } })
})
afterAll(async () => {
  await offshoot?.destroy()
  await rm(folder, { recursive: true })
})

async function run(args: readonly string[], env: Record<string, string> = {}) {
  const line = [...args, '--data-dir', offshoot.dataDir]
  const child = spawn(program, line, { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, ...env } })
  const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')])
  return { code: child.exitCode, output, errors }
}

/** Ids of all sandboxes, with those of databases. */
async function listed(): Promise<string[]> {
  const { body } = await offshoot.request('GET', '/v1/sandboxes')
  return (body as { id: string }[]).map(({ id }) => id).toSorted()
}

/** A route of operators. */
async function asOperator(path: string) {
  const { operator_key: key } = offshoot.credentials
  return offshoot.request('GET', path, { headers: { authorization: `Bearer ${key}` } })
}

describe('bin/up backup and restore', () => {
  it('bring back everything after control was lost, and keep what is newer than the backup', async () => {
    const [first] = [await offshoot.create(), await offshoot.create()]
    await offshoot.exec(first.id, 'echo kept > /root/file')
    const made = await offshoot.request('POST', '/v1/databases', { body: {} })
    const database = made.body as Database
    await connected(database.connection_url, (client) => client.query('create table kept as select 7 as n'))

    const file = join(folder, 'backup')
    const backup = await run(['backup', file, '--passphrase-file', passphraseFile])
    expect(backup).toMatchObject({ code: 0, errors: '', output: expect.stringMatching(/^\S+ \(\d+\.\d MiB\)\n$/) })
    expect((await readFile(file)).includes(offshoot.credentials.operator_key)).toBe(false)

    const known = await listed()
    const newer = await offshoot.create()
    await offshoot.exec(newer.id, 'echo newer > /root/file')
    const before = await offshoot.virtualMachines()
    await offshoot.stop()
    for (const name of LOST) await rm(join(offshoot.dataDir, name), { recursive: true })

    const wrong = await run(['restore', file], { OFFSHOOT_BACKUP_PASSPHRASE: 'wrong' })
    expect(wrong).toEqual({ code: 1, output: '', errors: 'The passphrase is not the one of this backup.\n' })
    expect(await readdir(offshoot.dataDir)).not.toContain('postgres')
    const restored = await run(['restore', file], { OFFSHOOT_BACKUP_PASSPHRASE: 'correct horse' })
    expect(restored).toMatchObject({ code: 0, errors: '', output: expect.stringMatching(/^Restored [^\n]*\.\n$/) })
    await offshoot.up()

    // By its new timeline, control knows that the database was restored.
    expect(await readdir(join(offshoot.dataDir, 'postgres/pg_wal'))).toContain('00000002.history')
    expect(await listed()).toEqual(known)
    expect(await offshoot.exec(first.id, 'cat /root/file')).toMatchObject({ stdout: 'kept\n' })
    const again = (await offshoot.request('GET', `/v1/databases/${database.id}`)).body as Database
    expect(await value(again.connection_url, 'select n from kept')).toBe(7)

    const reconcile = await until('the report of the newer sandbox', async () => {
      const { body } = await asOperator('/v1/admin/hosts/self/reconcile')
      return body.count > 0 ? body : null
    })
    expect(reconcile).toMatchObject({ cluster: 'own', count: 1, waiting: [{ action: 'delete', id: newer.id }] })
    expect(new Set(await offshoot.virtualMachines())).toEqual(new Set(before))
    // New things work too: every service has the secrets of the others.
    const later = await offshoot.create()
    expect(await offshoot.exec(later.id, 'echo $((6 * 7))')).toMatchObject({ stdout: '42\n' })
  })

  it('refuse in one sentence what cannot be right, and say how they are used', async () => {
    const used = await run(['restore', join(folder, 'backup'), '--passphrase-file', passphraseFile])
    expect(used).toMatchObject({ code: 1, output: '', errors: expect.stringMatching(/ is not empty [^\n]*\.\n$/) })
    const missing = await run(['backup', folder], { OFFSHOOT_BACKUP_PASSPHRASE: '' })
    expect(missing).toMatchObject({ code: 2, output: '', errors: expect.stringContaining('a passphrase is missing') })
    expect(await run(['backup'])).toMatchObject({ code: 2, errors: expect.stringContaining('FILE|FOLDER is missing') })
    expect(await run(['restore', '--help'])).toMatchObject({ code: 0, output: expect.stringContaining('restore FILE') })
  })
})
