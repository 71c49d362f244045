import { createHash } from 'node:crypto'
import { appendFile, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Deadline } from '@offshoot/kit/deadline'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { Thread } from '../../machine/capture/thread.ts'
import { VerifiedFiles } from './verified-files.ts'

const CONTENT = 'what a guest had in its memory'
const sealOf = (content: string) => ({
  bytes: content.length,
  sha256: createHash('sha256').update(content).digest('hex'),
})
const soon = () => Deadline.after(60_000, 'test')

/** A thread that answers when the test allows it, and that counts its calls. */
class HeldThread extends Thread {
  asked = 0
  readonly opened = Promise.withResolvers<void>()

  async wasAsked(times: number): Promise<void> {
    await expect.poll(() => this.asked, { timeout: 60_000 }).toBe(times)
  }

  override async ask(...[kind, asked, deadline]: Parameters<Thread['ask']>): Promise<never> {
    this.asked++
    const answer = super.ask(kind, asked, soon())
    // The test may have ended, and removed its file, before the answer.
    answer.catch(() => undefined)
    return (await deadline.race(this.opened.promise.then(async () => answer))) as never
  }
}

let folder: string
let path: string
let thread: HeldThread
let files: VerifiedFiles
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'verified-'))
  path = join(folder, 'memory')
  await writeFile(path, CONTENT)
  thread = new HeldThread()
  files = new VerifiedFiles((asked, deadline) => thread.ask('seal', asked, deadline))
})
afterEach(async () => {
  thread.opened.resolve()
  await rm(folder, { recursive: true })
})

it('keeps the hash of a file after all callers have left', async () => {
  const leave = new AbortController()
  const asked = files.isUnchanged(path, sealOf(CONTENT), Deadline.after(60_000, 'wake', leave.signal))
  asked.catch(() => undefined)
  await thread.wasAsked(1)
  leave.abort(new Error('the wake took too long'))
  await expect(asked).rejects.toThrow('the wake took too long')
  // The next wake comes during the hash, and another one after it.
  const again = files.isUnchanged(path, sealOf(CONTENT), soon())
  thread.opened.resolve()
  expect(await again).toBe(true)
  expect(await files.isUnchanged(path, sealOf(CONTENT), soon())).toBe(true)
  expect(thread.asked).toBe(1)
})

it('hashes a file once for concurrent callers', async () => {
  const asked = [1, 2, 3].map(async () => files.isUnchanged(path, sealOf(CONTENT), soon()))
  thread.opened.resolve()
  expect(await Promise.all(asked)).toEqual([true, true, true])
  expect(thread.asked).toBe(1)
})

it('hashes a file again that was changed meanwhile', async () => {
  const before = files.isUnchanged(path, sealOf(CONTENT), soon())
  await thread.wasAsked(1)
  await appendFile(path, '!')
  const after = files.isUnchanged(path, sealOf(`${CONTENT}!`), soon())
  await thread.wasAsked(2)
  thread.opened.resolve()
  await before
  expect(await after).toBe(true)
})

it('does not treat a hash without a sync as durable', async () => {
  const verified = files.isUnchanged(path, sealOf(CONTENT), soon())
  await thread.wasAsked(1)
  const sealed = files.seal(path, soon())
  await thread.wasAsked(2)
  thread.opened.resolve()
  expect(await verified).toBe(true)
  expect(await sealed).toEqual(sealOf(CONTENT))
})

it('reports a failure to all callers, and retries for the next one', async () => {
  const asked = [1, 2].map(async () => files.seal(path, soon()))
  await thread.wasAsked(1)
  const failed = Promise.allSettled(asked)
  thread.opened.reject(new Error('the thread ended'))
  expect((await failed).map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  await expect(files.seal(path, soon())).rejects.toThrow('the thread ended')
  expect(thread.asked).toBe(2)
})

it('keeps the hash of a file that gets and loses names while it is hashed', async () => {
  const sealed = files.seal(path, soon())
  await thread.wasAsked(1)
  await Promise.all(['a', 'b', 'c'].map((name) => files.link(path, join(folder, name))))
  await files.unlink(join(folder, 'b'))
  thread.opened.resolve()
  expect(await sealed).toEqual(sealOf(CONTENT))
  await Promise.all([
    files.unlink(path),
    files.link(join(folder, 'a'), join(folder, 'd')),
    files.unlink(join(folder, 'c')),
  ])
  expect(await files.isUnchanged(join(folder, 'd'), sealOf(CONTENT), soon())).toBe(true)
  expect(thread.asked).toBe(1)
})

it('does not keep the hash of a file that somebody else has changed meanwhile', async () => {
  const sealed = files.seal(path, soon())
  await thread.wasAsked(1)
  await files.link(path, join(folder, 'a'))
  await appendFile(path, '!')
  await files.link(path, join(folder, 'b'))
  thread.opened.resolve()
  await sealed
  expect(await files.isUnchanged(path, sealOf(`${CONTENT}!`), soon())).toBe(true)
  expect(thread.asked).toBe(2)
})

it('finds a file by its name although another name, by which it is being hashed, is removed', async () => {
  const other = join(folder, 'other')
  await files.link(path, other)
  const sealed = files.seal(other, soon())
  sealed.catch(() => undefined)
  await thread.wasAsked(1)
  const asked = files.isUnchanged(path, sealOf(CONTENT), soon())
  await files.unlink(other)
  thread.opened.resolve()
  await expect(sealed).rejects.toThrow('ENOENT')
  expect(await asked).toBe(true)
})

it('removes a folder, and keeps the hashes of files that have other names', async () => {
  thread.opened.resolve()
  await files.seal(path, soon())
  const doomed = join(folder, 'doomed')
  await mkdir(join(doomed, 'below'), { recursive: true })
  await files.link(path, join(doomed, 'memory'))
  for (const gone of [doomed, join(folder, 'missing')]) await files.removeTree(gone)
  expect(await readdir(folder)).toEqual(['memory'])
  expect(await files.isUnchanged(path, sealOf(CONTENT), soon())).toBe(true)
  expect(thread.asked).toBe(1)
})
