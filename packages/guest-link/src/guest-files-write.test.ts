import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { chmod, chown, lstat, mkdir, readdir, readFile, readlink, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { PassThrough, Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { FileEntry } from './file-entry.ts'
import type { GuestLink } from './link.ts'
import { fileErrorCode, hasChildren, until } from './testing/observe.ts'
import { HostGuest, deadlineFor } from './testing/host-guest.ts'

let guest: HostGuest
let link: GuestLink
let home: string

beforeEach(async () => {
  guest = await HostGuest.start()
  link = await guest.connect()
  home = join(guest.root, 'home')
  await mkdir(home)
  // Other users may enter this folder, so that a test of EACCES fails at the file and not here.
  await chmod(guest.root, 0o755)
})

afterEach(async () => {
  await guest.stop()
  link.close()
})

const at = (name: string) => join(home, name)
const soon = () => deadlineFor('file operation')
const of = (...parts: (string | Uint8Array)[]) => Readable.from(parts.map((part) => Buffer.from(part as string)))

async function read(path: string | Uint8Array, options = {}): Promise<string> {
  const { stream } = await link.files.read(path, { ...options, deadline: soon() })
  return soon().race(text(stream))
}

async function listOf(path: string, options = {}): Promise<FileEntry[]> {
  const entries: FileEntry[] = []
  for await (const entry of link.files.list(path, options)) entries.push(entry)
  return entries.sort((a, b) => Buffer.compare(a.name, b.name))
}

/** Names that a shell, a URL or a text decoder would change. */
const oddNames = [
  'with space',
  'with\nnewline',
  '100%25',
  '"quoted"',
  "'",
  '-rf',
  '\\',
  'ä日本',
  '*',
  ' ',
  '...',
  'x'.repeat(255),
]
const bytesName = Buffer.from([0x66, 0xff, 0xfe, 0x80, 0x0a])

describe('write', () => {
  it('makes and replaces a file, returns its size, and keeps mode and owner', async () => {
    expect(await link.files.write(at('new'), of('one ', 'two'))).toBe(7)
    expect(await readFile(at('new'), 'utf8')).toBe('one two')
    expect((await lstat(at('new'))).mode & 0o7777).toBe(0o644)
    await chmod(at('new'), 0o751)
    await chown(at('new'), 12, 34)
    expect(await link.files.write(at('new'), of())).toBe(0)
    const about = await lstat(at('new'))
    expect([about.size, about.mode & 0o7777, about.uid, about.gid]).toEqual([0, 0o751, 12, 34])
    await link.files.write(at('new'), of('x'), { mode: 0o4600 })
    expect((await lstat(at('new'))).mode & 0o7777).toBe(0o4600)
  })

  it('makes parent folders only with `parents`', async () => {
    expect(await fileErrorCode(link.files.write(at('a/b/c'), of('x')))).toBe('ENOENT')
    await link.files.write(at('a/b/c'), of('x'), { parents: true })
    expect(await readFile(at('a/b/c'), 'utf8')).toBe('x')
    expect(await fileErrorCode(link.files.write(at('a/b/c/d'), of('x'), { parents: true }))).toBe('ENOTDIR')
  })

  it('takes any name', async () => {
    for (const name of oddNames) {
      await link.files.write(at(name), of(name))
      expect(await readFile(at(name), 'utf8')).toBe(name)
    }
    const path = Buffer.concat([Buffer.from(`${home}/`), bytesName])
    await link.files.write(path, of('bytes'))
    expect(await readFile(path, 'utf8')).toBe('bytes')
    expect(await read(path)).toBe('bytes')
    expect((await listOf(home)).map((entry) => entry.name.toString('latin1'))).toEqual(
      [...oddNames.map((name) => Buffer.from(name)), bytesName]
        .sort((a, b) => Buffer.compare(a, b))
        .map((name) => name.toString('latin1')),
    )
  })

  it('writes the target of a link, and keeps the link', async () => {
    await mkdir(at('folder'))
    await symlink('folder/target', at('link'))
    await symlink(at('link'), at('link2'))
    await link.files.write(at('link2'), of('through'))
    expect(await readFile(at('folder/target'), 'utf8')).toBe('through')
    expect(await readlink(at('link2'))).toBe(at('link'))
    await symlink('loop', at('loop'))
    expect(await fileErrorCode(link.files.write(at('loop'), of('x')))).toBe('ELOOP')
  })

  it('refuses a path that is no regular file, and a file that the user may not write', async () => {
    execFileSync('sh', ['-c', `mkfifo ${at('fifo')}`])
    await writeFile(at('readonly'), 'old')
    await chmod(home, 0o777)
    expect(await fileErrorCode(link.files.write(home, of('x')))).toBe('EISDIR')
    expect(await fileErrorCode(link.files.write(`${at('new')}/`, of('x')))).toBe('EISDIR')
    expect(await fileErrorCode(link.files.write(`${home}/..`, of('x')))).toBe('EISDIR')
    expect(await fileErrorCode(link.files.write('/', of('x')))).toBe('EISDIR')
    expect(await fileErrorCode(link.files.write(at('fifo'), of('x')))).toBe('EINVAL')
    expect(await fileErrorCode(link.files.write('/dev/null', of('x')))).toBe('EINVAL')
    expect(await fileErrorCode(link.files.write(at('readonly'), of('x'), { user: 'nobody' }))).toBe('EACCES')
    expect(await fileErrorCode(link.files.write('/etc/passwd.new', of('x'), { user: 'nobody' }))).toBe('EACCES')
    expect(await fileErrorCode(link.files.write('relative', of('x')))).toBe('EINVAL')
    await link.files.write(at('own'), of('x'), { user: 'nobody' })
    expect((await lstat(at('own'))).uid).toBe(65_534)
    expect(await readFile(at('readonly'), 'utf8')).toBe('old')
  })

  it('shows readers the old content or the new, and no other file', async () => {
    await writeFile(at('file'), 'old')
    const source = new PassThrough()
    const writing = link.files.write(at('file'), source)
    source.write(Buffer.alloc(300_000))
    await until('the guest to take bytes', () => source.writableLength === 0)
    expect([await readFile(at('file'), 'utf8'), await readdir(home)]).toEqual(['old', ['file']])
    source.end('end')
    expect(await writing).toBe(300_003)
    expect([(await lstat(at('file'))).size, await readdir(home)]).toEqual([300_003, ['file']])
  })

  it('leaves nothing behind when its source fails or is destroyed, or when the host dies', async () => {
    await writeFile(at('file'), 'old')
    for (const end of ['fail', 'destroy', 'die'] as const) {
      const source = new PassThrough()
      const failure = link.files.write(at('file'), source).catch((error: unknown) => error)
      source.write(Buffer.alloc(300_000))
      await until('the guest to take bytes', () => source.writableLength === 0)
      if (end === 'fail') source.destroy(new Error('the client hung up'))
      else if (end === 'destroy') source.destroy()
      else link.close()
      const error = (await soon().race(failure)) as Error
      expect(error.message).toMatch(end === 'fail' ? 'the client hung up' : end === 'destroy' ? /premature/i : /closed/)
      if (end === 'die') link = await guest.connect()
      await until('the child to end', () => !hasChildren(guest.pid))
      expect([await readFile(at('file'), 'utf8'), await readdir(home)]).toEqual(['old', ['file']])
    }
  })

  it('fails with ENOSPC when the disk is full, and keeps the old file', async () => {
    execFileSync('sh', ['-c', `mount -t tmpfs -o size=1m none ${home}`])
    try {
      await writeFile(at('file'), 'old')
      const source = Readable.from(Array.from({ length: 100 }, () => Buffer.alloc(65_536)))
      expect(await fileErrorCode(link.files.write(at('file'), source))).toBe('ENOSPC')
      expect([await readFile(at('file'), 'utf8'), await readdir(home)]).toEqual(['old', ['file']])
      await link.files.write(at('file'), of('new'))
      expect(await fileErrorCode(link.files.move(at('file'), join(guest.root, 'elsewhere')))).toBe('EXDEV')
      expect(await fileErrorCode(link.files.remove(home, { recursive: true }))).toBe('EBUSY')
      expect(await readFile(at('file'), 'utf8')).toBe('new')
    } finally {
      execFileSync('sh', ['-c', `umount ${home}`])
    }
  })

  it('writes 300 MiB in constant memory', { tags: ['long'] }, async () => {
    const block = randomBytes(1024 * 1024)
    const rssBefore = process.memoryUsage.rss()
    let rssMost = 0
    const blocks = function* () {
      for (let i = 0; i < 300; i++) {
        rssMost = Math.max(rssMost, process.memoryUsage.rss())
        yield block
      }
    }
    expect(await link.files.write(at('much'), Readable.from(blocks()))).toBe(300 * 1024 * 1024)
    expect((await lstat(at('much'))).size).toBe(300 * 1024 * 1024)
    expect(rssMost - rssBefore).toBeLessThan(128 * 1024 * 1024)
  })
})
