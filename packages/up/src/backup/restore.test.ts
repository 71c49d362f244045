import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { zstdCompressSync } from 'node:zlib'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type DataLayout, dataLayout } from '../base/data-layout.ts'
import { encrypt } from './age-file.ts'
import { type Checksums, type Entry, textEntry, writeArchive } from './archive.ts'
import { currentVersions, MANIFEST } from './manifest.ts'
import { refuseUnfinishedRestore, restore } from './restore.ts'

const PASSPHRASE = 'correct horse'
const never = new AbortController().signal
const oneSentence = /^[^\n]+\.$/

let folder: string
let layout: DataLayout
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'offshoot-restore-'))
  layout = dataLayout(join(folder, 'data'), join(folder, 'images'))
})
afterEach(() => rm(folder, { recursive: true }))

/** Every path below a folder. */
const listing = async (path: string) => (await readdir(path, { recursive: true })).toSorted()

/** Writes a small backup whose manifest has these fields. */
async function made(changes: Record<string, unknown>): Promise<string> {
  const cluster = join(folder, 'cluster')
  await mkdir(cluster, { recursive: true })
  await writeFile(join(cluster, 'PG_VERSION'), '16\n')
  const files: Checksums = {}
  async function* entries(): AsyncGenerator<Entry> {
    yield { kind: 'folder', path: 'postgres', mode: 0o700 }
    yield textEntry('postgres/PG_VERSION', '16\n')
    const versions = await currentVersions(cluster)
    yield textEntry(MANIFEST, JSON.stringify({ ...versions, created_at: '2030-01-01T00:00:00Z', files, ...changes }))
  }
  const tar = await buffer(writeArchive(entries(), files))
  const path = join(folder, 'made')
  await writeFile(path, await buffer(encrypt(Readable.from([zstdCompressSync(tar)]), PASSPHRASE, 10)))
  return path
}

describe('a backup with a manifest', () => {
  it.each([
    ['of a newer release', { version: '999.0.0' }, 'A newer release, 999.0.0'],
    ['of a newer schema', { schema: '9999-later' }, 'A newer release'],
    ['of a newer format', { format: 2 }, 'A newer release'],
    ['of another CPU', { architecture: 'other' }, 'another CPU'],
    ['of another PostgreSQL', { postgres: '15' }, 'of PostgreSQL 15'],
    [
      'of another file',
      { files: { 'postgres/PG_VERSION': { bytes: 3, sha256: '00' } } },
      'damaged: postgres/PG_VERSION',
    ],
    ['without versions', { version: null }, 'no manifest'],
  ])('%s is refused and changes nothing', async (_what, changes, sentence) => {
    await mkdir(join(layout.agent, 'sandboxes'), { recursive: true })
    const file = await made(changes)
    const refusal = await restore(layout, file, PASSPHRASE, never).then(
      () => 'restored',
      ({ message }: Error) => message,
    )
    expect(refusal).toMatch(oneSentence)
    expect(refusal).toContain(sentence)
    expect((await listing(layout.dir)).filter((name) => name !== 'up.lock')).toEqual(['agent', 'agent/sandboxes'])
  })

  it('is restored beside the folders of the agent, also after a restore that was killed', async () => {
    await mkdir(join(layout.agent, 'sandboxes'), { recursive: true })
    const file = await made({})
    await restore(layout, file, PASSPHRASE, never)
    expect(await listing(layout.postgres)).toContain('recovery.signal')
    await mkdir(layout.restoring)
    await writeFile(join(layout.restoring, 'moving'), '')
    await writeFile(layout.credentials, 'of the killed restore')
    await expect(refuseUnfinishedRestore(layout)).rejects.toThrow('did not finish')
    await restore(layout, file, PASSPHRASE, never)
    await expect(refuseUnfinishedRestore(layout)).resolves.toBeUndefined()
    const found = await listing(layout.dir)
    expect(found).toEqual(expect.arrayContaining(['agent/sandboxes', 'postgres/PG_VERSION']))
    expect(found).not.toContain('credentials.json')
  })
})
