import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { S3Server } from '../test/s3-server.ts'
import { type ObjectSettings, Objects } from './objects.ts'

const { signal } = new AbortController()
const key = Buffer.alloc(32, 1).toString('base64')
const NAME = 'archives/x/000000010000000000000001'
const content = Buffer.from('a segment')

let place: string
let s3: S3Server

beforeEach(async () => {
  place = await mkdtemp(join(tmpdir(), 'objects-'))
  s3 = await S3Server.start()
})
afterEach(async () => {
  await s3.stop()
  await rm(place, { recursive: true })
})

function opened(store: ObjectSettings['store'], withKey = key): Objects {
  return Objects.of({ store, key: withKey })
}

const inBucket = (changes: object = {}) => opened({ s3: { ...s3.settings.s3, ...changes } })

describe('objects', () => {
  it('are stored, read and deleted, in a folder and in a bucket', async () => {
    for (const objects of [opened({ folder: place }), inBucket(), inBucket({ prefix: '' })]) {
      expect(await objects.get(NAME, signal)).toEqual({ state: 'absent' })
      await objects.put(NAME, content, signal)
      expect(await objects.get(NAME, signal)).toEqual({ state: 'present', content })
      await objects.remove(NAME, signal)
      await objects.remove(NAME, signal)
      expect(await objects.get(NAME, signal)).toEqual({ state: 'absent' })
    }
  })

  it('are encrypted, and only readable with the key and under their name', async () => {
    await inBucket().put(NAME, content, signal)
    const [[name, sealed] = ['', Buffer.alloc(0)]] = [...s3.objects]
    expect([name, sealed.includes(content)]).toEqual([`a/b/${NAME}`, false])
    const other = opened(s3.settings, Buffer.alloc(32, 2).toString('base64'))
    expect(await other.get(NAME, signal)).toMatchObject({ state: 'unreadable' })
    s3.objects.set('a/b/archives/y/z', sealed)
    expect(await inBucket().get('archives/y/z', signal)).toMatchObject({ state: 'unreadable' })
  })

  it.for(['error-500', 'damaged', 'cut'] as const)(
    'are unreadable, not absent, if the server answers: %s',
    async (fault) => {
      await inBucket().put(NAME, content, signal)
      s3.fault = fault
      expect(await inBucket().get(NAME, signal)).toEqual({ state: 'unreadable', reason: expect.any(String) })
      s3.fault = 'none'
      expect(await inBucket().get(NAME, signal)).toEqual({ state: 'present', content })
    },
  )

  it.for(['error-500', 'full', 'cut'] as const)('are not stored if the server answers: %s', async (fault) => {
    s3.fault = fault
    await expect(inBucket().put(NAME, content, signal)).rejects.toThrow(/InternalError|XMinioStorageFull|fetch failed/)
    expect(s3.objects.size).toBe(0)
  })

  it('are unreadable in a wrong bucket, with wrong keys, and without a server that answers', async () => {
    const reasonOf = async (objects: Objects) => objects.get(NAME, signal)
    expect(await reasonOf(inBucket({ bucket: 'another' }))).toEqual({
      state: 'unreadable',
      reason: 'NoSuchBucket (status 404)',
    })
    expect(await reasonOf(inBucket({ secret_access_key: 'wrong' }))).toEqual({
      state: 'unreadable',
      reason: 'SignatureDoesNotMatch (status 403)',
    })
    await expect(inBucket({ bucket: 'another' }).remove(NAME, signal)).rejects.toThrow('NoSuchBucket')
    s3.fault = 'slow'
    const impatient = AbortSignal.timeout(50)
    expect(await inBucket().get(NAME, impatient)).toMatchObject({ state: 'unreadable' })
  })

  it('are unreadable, and not stored, in a folder that does not exist', async () => {
    const objects = opened({ folder: join(place, 'not-mounted') })
    await expect(objects.put(NAME, content, signal)).rejects.toMatchObject({ code: 'ENOENT' })
    expect(await objects.get(NAME, signal)).toMatchObject({ state: 'unreadable' })
    expect(await readdir(place)).toEqual([])
    await mkdir(join(place, 'not-mounted'))
    expect(await objects.get(NAME, signal)).toEqual({ state: 'absent' })
  })
})
