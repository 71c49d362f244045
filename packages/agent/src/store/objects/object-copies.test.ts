import { mkdtemp, rm, utimes } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { S3Server } from '@offshoot/kit/test/s3-server'
import { openObjects, type ObjectCopies } from './object-copies.ts'

const { signal } = new AbortController()
const OWNER = 'owner'

let place: string
let s3: S3Server
let copies: ObjectCopies

beforeEach(async () => {
  place = await mkdtemp(join(tmpdir(), 'copies-'))
  s3 = await S3Server.start()
  copies = await opened()
})
afterEach(async () => {
  await s3.stop()
  await rm(place, { recursive: true })
})

async function opened(): Promise<ObjectCopies> {
  const settings = { store: s3.settings, key: Buffer.alloc(32, 1).toString('base64') }
  const objects = await openObjects(
    { objects: settings },
    { objects: place, restoring: await mkdtemp(join(place, 'restoring-')) },
  )
  if (objects === null) throw new Error('no objects')
  return objects.archives
}

const put = (name: string) => copies.put(OWNER, name, Buffer.from(name), signal)
const names = () => [...s3.objects.keys()].map((name) => name.replace(`a/b/archives/${OWNER}/`, '')).toSorted()

it('counts a file as stored only when the server has confirmed it', async () => {
  s3.fault = 'error-500'
  await expect(put('a')).rejects.toThrow('InternalError')
  expect(await (await opened()).files.stored(OWNER)).toEqual(new Set())
  s3.fault = 'none'
  await put('a')
  expect([await (await opened()).files.stored(OWNER), names()]).toEqual([new Set(['a']), ['a']])
})

it('deletes only what was recorded as unneeded, also after a failure', async () => {
  for (const name of ['old', 'new']) await put(name)
  await copies.deleteDropped(signal)
  expect(names()).toEqual(['new', 'old'])
  await utimes(join(place, 'archives', OWNER, 'old'), 1000, 1000)
  await copies.files.drop(OWNER, (_, storedAtMs) => storedAtMs >= 2_000_000)
  s3.fault = 'error-500'
  await expect(copies.deleteDropped(signal)).rejects.toThrow('InternalError')
  expect(names()).toEqual(['new', 'old'])
  s3.fault = 'none'
  copies = await opened()
  await copies.deleteDropped(signal)
  expect([names(), await copies.files.stored(OWNER)]).toEqual([['new'], new Set(['new'])])
})

it('deletes all objects of an owner that has ended, also those of an interrupted upload', async () => {
  await put('a')
  // The agent was killed after the upload, before its record.
  await copies.files.begin(OWNER, 'b')
  s3.objects.set(`a/b/archives/${OWNER}/b`, Buffer.from('b'))
  await copies.files.end(OWNER, 'deleted')
  await (await opened()).deleteDropped(signal)
  expect([names(), await copies.files.owners()]).toEqual([[], []])
})

it('records the end of no owner that has no objects', async () => {
  await copies.files.end(OWNER, 'deleted')
  expect(await copies.files.owners()).toEqual([])
})
