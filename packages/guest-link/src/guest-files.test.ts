import { execFileSync } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { chmod, lstat, mkdir, open, readdir, readFile, symlink, truncate, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { buffer, text } from 'node:stream/consumers'
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

async function read(path: string | Uint8Array, options = {}): Promise<string> {
  const { stream } = await link.files.read(path, { ...options, deadline: soon() })
  return soon().race(text(stream))
}

async function listOf(path: string, options = {}): Promise<FileEntry[]> {
  const entries: FileEntry[] = []
  for await (const entry of link.files.list(path, options)) entries.push(entry)
  return entries.sort((a, b) => Buffer.compare(a.name, b.name))
}

describe('read', () => {
  it('returns the whole file or a part, and its metadata', async () => {
    await writeFile(at('file'), '0123456789')
    await chmod(at('file'), 0o640)
    const { stat, stream } = await link.files.read(at('file'))
    expect(await text(stream)).toBe('0123456789')
    expect(stat).toMatchObject({ type: 'file', size: 10, mode: 0o640, isSizeKnown: true, target: null })
    expect(await read(at('file'), { offset: 3, length: 4 })).toBe('3456')
    expect(await read(at('file'), { offset: 8, length: 100 })).toBe('89')
    expect(await read(at('file'), { offset: 10 })).toBe('')
    expect(await read(at('file'), { offset: 1e15, length: 5 })).toBe('')
    expect(await read(at('file'), { length: 0 })).toBe('')
  })

  it('fails with an errno before the first byte', async () => {
    await symlink('loop', at('loop'))
    await writeFile(at('secret'), 'x')
    await chmod(at('secret'), 0o600)
    execFileSync('sh', ['-c', `mkfifo ${at('fifo')}`])
    const server = createServer().listen(at('socket'))
    expect(await fileErrorCode(link.files.read(at('missing')))).toBe('ENOENT')
    expect(await fileErrorCode(link.files.read(at('loop')))).toBe('ELOOP')
    expect(await fileErrorCode(link.files.read(home))).toBe('EISDIR')
    expect(await fileErrorCode(link.files.read(at('secret/below')))).toBe('ENOTDIR')
    expect(await fileErrorCode(link.files.read(at('secret'), { user: 'nobody' }))).toBe('EACCES')
    expect(await fileErrorCode(link.files.read(at('fifo')))).toBe('EINVAL')
    expect(await fileErrorCode(link.files.read('/dev/zero'))).toBe('EINVAL')
    expect(await fileErrorCode(link.files.read(at('x'.repeat(256))))).toBe('ENAMETOOLONG')
    expect(await fileErrorCode(link.files.read(`/${'y/'.repeat(3000)}`))).toBe('ENAMETOOLONG')
    await until('the socket', () => existsSync(at('socket')))
    expect(await fileErrorCode(link.files.read(at('socket')))).toBe('EINVAL')
    server.close()
  })

  it('reads files in /proc and /sys, whose size is unknown', async () => {
    const { stat, stream } = await link.files.read('/proc/version')
    expect(stat.isSizeKnown).toBe(false)
    expect(await text(stream)).toMatch(/^Linux version/)
    expect(await read('/sys/kernel/mm/transparent_hugepage/enabled')).toMatch(/madvise/)
    expect(await read('/proc/uptime', { user: 'nobody' })).toMatch(/^\d+\.\d/)
  })

  it('reads beyond 4 GiB, in sparse files', async () => {
    await writeFile(at('great'), '')
    await truncate(at('great'), 5 * 2 ** 30)
    const handle = await open(at('great'), 'r+')
    await handle.write('end', 5 * 2 ** 30 - 3)
    await handle.close()
    const { stat, stream } = await link.files.read(at('great'), { offset: 5 * 2 ** 30 - 5 })
    expect(stat.size).toBe(5 * 2 ** 30)
    expect(await text(stream)).toBe('\0\0end')
  })

  it('reads 300 MiB unchanged, in constant memory', { tags: ['long'] }, async () => {
    const block = randomBytes(1024 * 1024)
    const handle = await open(at('much'), 'w')
    const wanted = createHash('sha1')
    for (let i = 0; i < 300; i++) {
      await handle.write(block)
      wanted.update(block)
    }
    await handle.close()
    const seen = createHash('sha1')
    const rssBefore = process.memoryUsage.rss()
    let rssMost = 0
    const { stream } = await link.files.read(at('much'))
    for await (const chunk of stream) {
      seen.update(chunk as Buffer)
      rssMost = Math.max(rssMost, process.memoryUsage.rss())
    }
    expect(seen.digest('hex')).toBe(wanted.digest('hex'))
    expect(rssMost - rssBefore).toBeLessThan(128 * 1024 * 1024)
  })

  it('fails when the file is truncated meanwhile, instead of ending early', async () => {
    await writeFile(at('shrinking'), Buffer.alloc(4_000_000))
    const { stat, stream } = await link.files.read(at('shrinking'))
    expect(stat.size).toBe(4_000_000)
    await truncate(at('shrinking'), 10)
    expect(await fileErrorCode(buffer(stream))).toBe('ESTALE')
  })

  it('ends the builtin in the guest when the stream is destroyed', async () => {
    await writeFile(at('file'), Buffer.alloc(4_000_000))
    const { stream } = await link.files.read(at('file'))
    stream.destroy()
    await until('the child to end', () => !hasChildren(guest.pid))
  })
})

describe('stat and list', () => {
  it('describe files, folders, links and other kinds, and follow no link', async () => {
    await writeFile(at('file'), 'four')
    await mkdir(at('folder'), { mode: 0o711 })
    await symlink('nowhere\n', at('link'))
    execFileSync('sh', ['-c', `mkfifo -m 600 ${at('other')}`])
    execFileSync('touch', ['-h', '-d', '@1234567890.5', at('link')])
    const entries = await listOf(home)
    expect(entries.map((entry) => [String(entry.name), entry.type])).toEqual([
      ['file', 'file'],
      ['folder', 'dir'],
      ['link', 'symlink'],
      ['other', 'other'],
    ])
    expect(entries[0]).toMatchObject({ size: 4, mode: 0o644, uid: 0, gid: 0, target: null, linked: null })
    expect(entries[0]).toMatchObject({ userName: 'root', groupName: 'root' })
    expect(entries[1]?.mode).toBe(0o711)
    expect(entries[2]).toMatchObject({ mtimeMs: 1234567890500, target: Buffer.from('nowhere\n') })
    for (const entry of entries) expect(await link.files.stat(at(String(entry.name)))).toEqual(entry)
    expect((await link.files.stat(`${home}//`)).type).toBe('dir')
    expect((await link.files.stat('/')).type).toBe('dir')
    expect(await fileErrorCode(link.files.stat(at('missing')))).toBe('ENOENT')
    expect(await fileErrorCode(link.files.stat('')).catch(() => 'none')).toBe('EINVAL')
  })

  it('fail at the first step of the iteration', async () => {
    await writeFile(at('file'), '')
    await mkdir(at('closed'), { mode: 0o700 })
    expect(await fileErrorCode(listOf(at('missing')))).toBe('ENOENT')
    expect(await fileErrorCode(listOf(at('file')))).toBe('ENOTDIR')
    expect(await fileErrorCode(listOf(at('closed'), { user: 'nobody' }))).toBe('EACCES')
    expect(await listOf(at('closed'))).toEqual([])
  })

  it(
    'list any number of entries, and end the builtin when the iteration is left early',
    { tags: ['long'] },
    async () => {
      await mkdir(at('many'))
      execFileSync('sh', [
        '-c',
        `cd ${at('many')} && seq -f 'a rather long name of a file %g' 20000 | xargs -d '\\n' touch`,
      ])
      expect((await listOf(at('many'))).length).toBe(20_000)
      for await (const entry of link.files.list(at('many'))) {
        expect(entry.type).toBe('file')
        break
      }
      await until('the child to end', () => !hasChildren(guest.pid))
    },
  )
})

describe('remove, mkdir and move', () => {
  it('remove a file, a link, and a folder only with `recursive`', async () => {
    execFileSync('sh', [
      '-c',
      `cd ${home} && mkdir -p d/e/f && touch d/1 d/e/2 outside && ln -s ../outside d/link && ln -s .. d/e/up`,
    ])
    expect(await fileErrorCode(link.files.remove(at('d')))).toBe('EISDIR')
    expect(await fileErrorCode(link.files.remove(at('d'), { recursive: true, user: 'nobody' }))).toBe('EACCES')
    await link.files.remove(at('d/link'))
    await link.files.remove(at('d'), { recursive: true })
    expect(await readdir(home)).toEqual(['outside'])
    expect(await fileErrorCode(link.files.remove(at('d')))).toBe('ENOENT')
    expect(await fileErrorCode(link.files.remove('/', { recursive: true }))).toBe('EBUSY')
    expect(await fileErrorCode(link.files.remove(`${home}/..`, { recursive: true }))).toBe('EBUSY')
    await link.files.remove(at('outside'), { recursive: true })
  })

  it('remove 1200 nested folders', { tags: ['faults'] }, async () => {
    execFileSync('python3', [
      '-c',
      `import os\nos.chdir('${home}')\nfor i in range(1200):\n  os.mkdir('deep'); os.chdir('deep')`,
    ])
    await link.files.remove(at('deep'), { recursive: true, deadline: soon() })
    expect(await readdir(home)).toEqual([])
  })

  it('make folders', async () => {
    await link.files.mkdir(at('a'), { mode: 0o1777 })
    expect((await lstat(at('a'))).mode & 0o7777).toBe(0o1777)
    expect(await fileErrorCode(link.files.mkdir(at('a')))).toBe('EEXIST')
    expect(await fileErrorCode(link.files.mkdir(at('b/c')))).toBe('ENOENT')
    await link.files.mkdir(at('a/b/c'), { parents: true })
    await link.files.mkdir(at('a/b/c'), { parents: true })
    await writeFile(at('file'), '')
    expect(await fileErrorCode(link.files.mkdir(at('file'), { parents: true }))).toBe('EEXIST')
  })

  it('move, and replace the target only with `overwrite`', async () => {
    await writeFile(at('one'), '1')
    await writeFile(at('two'), '2')
    expect(await fileErrorCode(link.files.move(at('one'), at('two')))).toBe('EEXIST')
    expect(await fileErrorCode(link.files.move(at('missing'), at('new')))).toBe('ENOENT')
    await link.files.move(at('one'), at('two'), { overwrite: true })
    expect([await readdir(home), await readFile(at('two'), 'utf8')]).toEqual([['two'], '1'])
    await link.files.move(at('two'), at('x/y/z'), { parents: true })
    await mkdir(at('full/of'), { recursive: true })
    expect(await fileErrorCode(link.files.move(at('x'), at('full'), { overwrite: true }))).toBe('ENOTEMPTY')
  })
})

it('a file operation fails at its deadline when the guest is stopped', async () => {
  process.kill(guest.pid, 'SIGSTOP')
  const failure = await link.files
    .stat('/', { deadline: deadlineFor('stat').within(30, 'stat') })
    .catch((error: unknown) => error)
  process.kill(guest.pid, 'SIGCONT')
  expect((failure as Error).name).toBe('DeadlineExceeded')
  expect((await link.files.stat('/')).type).toBe('dir')
})
