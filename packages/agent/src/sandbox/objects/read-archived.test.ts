import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseSandboxId } from '@offshoot/contract/ids'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { Archive } from '../../store/archives/archive.ts'
import { type HostObjects, openObjects } from '../../store/objects/object-copies.ts'
import { S3Server } from '@offshoot/kit/test/s3-server'
import { ArchiveUnreadable, readArchived } from './read-archived.ts'
import { showWaiting, uploadArchive } from './upload-archive.ts'

const { signal } = new AbortController()
const OWNER = parseSandboxId('6f7c0e0e-6b0e-4b0e-8b0e-6f7c0e0e6b0e')
const NAME = '000000010000000000000001'
const LATER = '000000010000000000000002'

let place: string
let s3: S3Server
let objects: HostObjects
let archive: Archive

beforeEach(async () => {
  place = await mkdtemp(join(tmpdir(), 'read-archived-'))
  s3 = await S3Server.start()
  const settings = { store: s3.settings, key: Buffer.alloc(32, 1).toString('base64') }
  const dir = { objects: join(place, 'objects'), restoring: await mkdtemp(join(place, 'restoring-')) }
  objects = (await openObjects({ objects: settings }, dir)) ?? expect.fail('no objects')
  archive = await Archive.open(join(place, 'archive'))
  await archive.put(NAME, Buffer.from('content'))
  await archive.markGap()
})
afterEach(async () => {
  await s3.stop()
  await rm(place, { recursive: true })
})

const owner = () => OWNER ?? expect.fail('no id')
const upload = () => uploadArchive(objects.archives, owner(), archive, signal)
const waiting = () => showWaiting(objects.archives, owner(), archive)
const read = async (name: string, from: HostObjects | null = objects) =>
  readArchived({ objects: from }, owner(), archive, name, signal)

it('reads from the object store what the disk has lost, through a fault that passes', async () => {
  await upload()
  await rm(join(place, 'archive'), { recursive: true })
  expect(await read(NAME, null)).toBeNull()
  archive = await Archive.open(join(place, 'archive'))
  s3.fault = 'error-500'
  const reading = read(NAME)
  const before = s3.requests
  await expect.poll(() => s3.requests).toBeGreaterThan(before)
  s3.fault = 'none'
  expect([String(await reading), await read(LATER)]).toEqual(['content', null])
})

it('does not call a file absent that it cannot read', { tags: ['faults'] }, async () => {
  await upload()
  await rm(join(place, 'archive', `${NAME}.zst`))
  s3.fault = 'damaged'
  await expect(read(NAME)).rejects.toThrow(ArchiveUnreadable)
})

it('counts what the store lacks, and uploads it after a failure', async () => {
  s3.fault = 'full'
  await expect(upload()).rejects.toThrow('XMinioStorageFull')
  expect(await waiting()).toMatchObject({ waiting_bytes: archive.fileOf(NAME)?.bytes })
  s3.fault = 'none'
  await upload()
  expect(await waiting()).toEqual({ waiting_bytes: 0, waiting_seconds: 0, error: null })
  expect([...s3.objects.keys()]).toEqual([`a/b/archives/${OWNER}/${NAME}`])
})
