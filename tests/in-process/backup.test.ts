/** @module-tag faults */
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from 'pg'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { type DataLayout, dataLayout, makeDataDir } from '@offshoot/up/base/data-layout'
import { secret } from '@offshoot/up/base/secret'
import { backUp } from '@offshoot/up/backup/backup'
import { restore } from '@offshoot/up/backup/restore'
import { serveCluster } from '../setup/served-cluster.ts'

const PASSPHRASE = 'correct horse'
const never = new AbortController().signal

let folder: string
let running: Awaited<ReturnType<typeof serveCluster>>[] = []
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'offshoot-backup-'))
})
afterEach(async () => {
  await Promise.all(running.map((served) => served.stop()))
  running = []
})
afterAll(() => rm(folder, { recursive: true }))

/** @returns a client of the service's role, once the cluster's server accepts connections */
async function serve(layout: DataLayout): Promise<Client> {
  const served = await serveCluster(layout)
  running.push(served)
  const client = new Client(served.address)
  await client.connect()
  return client
}

async function stop(): Promise<void> {
  await running.pop()?.stop()
}

const highest = async (client: Client) =>
  (await client.query<{ n: number }>('select count(*)::integer as n from numbers')).rows[0]?.n ?? 0

/** Every path below a folder. */
const listing = async (path: string) => (await readdir(path, { recursive: true })).toSorted()

describe('a backup', () => {
  let layout: DataLayout
  let taken: string

  it('of a running database under load has every commit that was acknowledged before it', async () => {
    layout = dataLayout(join(folder, 'first'), join(folder, 'images'))
    await makeDataDir(layout)
    const client = await serve(layout)
    await client.query('create table numbers (n serial primary key, filler text)')
    await writeFile(layout.settings, '{"sign_up":"closed"}')
    const kept = await secret(layout.control, 'accounts-secret')

    const backup = new AbortController()
    let acknowledged = 0
    const load = (async () => {
      for (; !backup.signal.aborted; acknowledged += 1)
        await client.query(`insert into numbers (filler) values (repeat('x', 2000))`)
    })()
    // One more commit after each loop turn; the first must be there before the backup begins.
    await client.query('select 1')
    const before = acknowledged
    const target = join(folder, 'backups')
    await mkdir(target)
    const { path, bytes } = await backUp(layout, target, PASSPHRASE, never)
    backup.abort()
    await load
    await client.end()
    await stop()
    taken = path
    expect(path).toMatch(/backups\/offshoot-\d{8}T\d{6}Z\.tar\.zst\.age$/)
    expect([(await stat(path)).mode & 0o777, (await stat(path)).size]).toEqual([0o600, bytes])
    expect(await readdir(target)).toHaveLength(1)

    const other = dataLayout(join(folder, 'second'), join(folder, 'images'))
    expect(await restore(other, path, PASSPHRASE, never)).toMatchObject({ format: 1, postgres: '16' })
    const restored = await serve(other)
    const found = await highest(restored)
    await restored.end()
    expect(found).toBeGreaterThanOrEqual(before)
    expect(found).toBeLessThanOrEqual(acknowledged)
    expect(await secret(other.control, 'accounts-secret')).toEqual(kept)
    expect(await readFile(other.settings, 'utf8')).toBe('{"sign_up":"closed"}')
    expect(await readdir(other.dir)).not.toContain('.restore-new')
  })

  it('of a stopped database has everything, and never replaces a file', { tags: ['long'] }, async () => {
    const target = join(folder, 'stopped')
    const { path } = await backUp(layout, target, PASSPHRASE, never)
    expect(path).toBe(target)
    await expect(backUp(layout, target, PASSPHRASE, never)).rejects.toThrow(`${target} exists already`)
    await expect(backUp(layout, join(folder, 'nowhere/x'), PASSPHRASE, never)).rejects.toThrow('(ENOENT)')
    const empty = dataLayout(join(folder, 'empty'), join(folder, 'images'))
    await expect(backUp(empty, join(folder, 'x'), PASSPHRASE, never)).rejects.toThrow('nothing to back up')
    const other = dataLayout(join(folder, 'third'), join(folder, 'images'))
    await restore(other, path, PASSPHRASE, never)
    const [first, second] = [await serve(layout), await serve(other)]
    expect(await highest(second)).toBe(await highest(first))
    await Promise.all([first.end(), second.end()])
  })

  it('is refused by a data directory in use, which keeps its content', async () => {
    const before = await listing(layout.dir)
    await expect(restore(layout, taken, PASSPHRASE, never)).rejects.toThrow(/ is not empty \(.*postgres/)
    expect(await listing(layout.dir)).toEqual(before)
  })

  it(
    'that is damaged, truncated, no backup, or has another passphrase leaves nothing',
    { tags: ['faults'] },
    async () => {
      const content = await readFile(taken)
      const middle = Buffer.from(content)
      middle[content.length >> 1] = (middle[content.length >> 1] ?? 0) ^ 1
      const files = new Map([
        ['whole', content],
        ['damaged', middle],
        ['truncated', content.subarray(0, content.length - 100)],
        ['other', Buffer.from('hello\n'.repeat(100))],
      ])
      for (const [name, bytes] of files) await writeFile(join(folder, name), bytes)
      const target = dataLayout(join(folder, 'target/data'), join(folder, 'images'))
      const refusal = (name: string, passphrase = PASSPHRASE) =>
        restore(target, join(folder, name), passphrase, never).then(
          () => 'restored',
          ({ message }: Error) => message,
        )
      expect(await refusal('damaged')).toBe('The backup is damaged or truncated.')
      expect(await refusal('truncated')).toBe('The backup is damaged or truncated.')
      expect(await refusal('other')).toBe('The file is not a backup of Offshoot.')
      expect(await refusal('missing')).toMatch(/ cannot be read \(ENOENT\)\.$/)
      expect(await refusal('whole', 'wrong')).toBe('The passphrase is not the one of this backup.')
      expect(await readdir(folder)).not.toContain('target')
    },
  )
})
