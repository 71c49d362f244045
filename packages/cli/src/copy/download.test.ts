import { once } from 'node:events'
import { lstat, mkdir, mkdtemp, readdir, readFile, readlink, rm, symlink, writeFile } from 'node:fs/promises'
import { createServer, type RequestListener } from 'node:http'
import { type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough, Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { packTar, type TarEntry } from 'modern-tar'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { run } from '../run.ts'

/*
 * A hostile sandbox: a server that describes a folder and sends any archive for it.
 */

const ID = '00000000-0000-4000-8000-000000000000'
const FOLDER = JSON.stringify({ type: 'dir', mode: '0755', mtime: 1 })

let folder: string
let target: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'offshoot-copy-'))
  target = join(folder, 'target')
})
afterEach(async () => rm(folder, { recursive: true }))

const file = (name: string, body = 'written'): TarEntry => ({ header: { name, type: 'file', size: body.length }, body })
const link = (name: string, linkname: string): TarEntry => ({ header: { name, type: 'symlink', size: 0, linkname } })
const hardLink = (name: string, linkname: string): TarEntry => ({ header: { name, type: 'link', size: 0, linkname } })
const dir = (name: string): TarEntry => ({ header: { name, type: 'directory', size: 0 } })

/** Runs `offshoot cp` against a server that answers so. */
async function copyFrom(answer: RequestListener) {
  const server = createServer(answer).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const [stdout, stderr] = [new PassThrough(), new PassThrough()]
  const outputs = Promise.all([text(stdout), text(stderr)])
  const env = {
    OFFSHOOT_CONFIG: join(folder, 'config.json'),
    OFFSHOOT_API_KEY: 'ofs_secret',
    OFFSHOOT_BASE_URL: `http://127.0.0.1:${port}`,
  }
  const stdin = Readable.from([]) as unknown as NodeJS.ReadStream
  const surroundings = { env, cwd: folder, stdin, stdout, stderr }
  const code = await run(['cp', `${ID}:/data`, 'target'], surroundings, new AbortController().signal)
  stdout.end()
  stderr.end()
  server.closeAllConnections()
  server.close()
  const [, err] = await outputs
  return { code, err }
}

async function sent(...entries: readonly TarEntry[]) {
  const archive = await packTar([...entries])
  return copyFrom((request, response) => {
    response.end(request.url?.includes('/fs/archive') === true ? archive : FOLDER)
  })
}

/** Everything that stands beside the target. */
async function outside(): Promise<string[]> {
  return (await readdir(folder)).filter((name) => name !== 'target')
}

describe('a hostile sandbox', () => {
  it.each([
    ['a name with ..', [file('../escaped')]],
    ['a name that goes up inside', [file('a/../../escaped')]],
    ['a folder with ..', [dir('../escaped')]],
    ['a hard link to a file outside', [hardLink('inner', '../secret')]],
    ['a hard link to a file that is not in the copy', [hardLink('inner', 'secret')]],
    ['a file below a link of the copy', [dir('real'), link('real/up', '.'), file('real'), file('real/up/x')]],
  ])('ends the copy with one sentence: %s', async (_name, entries) => {
    await writeFile(join(folder, 'secret'), 'mine')
    const { code, err } = await sent(...entries)
    expect(code).toBe(1)
    expect(err).toMatch(/^offshoot: [^\n]+\n$/)
    expect(await outside()).toEqual(['secret'])
  })

  it('cannot write outside by an absolute name, which counts from the target', async () => {
    expect(await sent(file(join(folder, 'escaped')))).toEqual({ code: 0, err: '' })
    expect(await outside()).toEqual([])
    expect(await readFile(join(target, folder, 'escaped'), 'utf8')).toBe('written')
  })

  it('gets no link that leads out, and the rest is copied', async () => {
    const out = [
      link('absolute', '/etc/passwd'),
      link('up', '..'),
      link('a/up', '../..'),
      link('a/b', '.'),
      link('a/through', 'b/../..'),
      link('a/slash', './/../../x'),
    ]
    const { code, err } = await sent(dir('a'), ...out, link('a/good', '../kept'), file('kept'))
    expect(code).toBe(1)
    expect(err.match(/left out: \S+ leads out/g)).toHaveLength(5)
    expect((await readdir(join(target, 'a'))).toSorted()).toEqual(['b', 'good'])
    expect(await readlink(join(target, 'a/good'))).toBe('../kept')
    expect(await readFile(join(target, 'a/good'), 'utf8')).toBe('written')
  })

  it('writes through no link: neither one of its own, nor one that was there before', async () => {
    await mkdir(join(folder, 'outer'))
    await writeFile(join(folder, 'outer/kept'), 'mine')
    await mkdir(join(target, 'data'), { recursive: true })
    await symlink('../../outer', join(target, 'data/old'))
    await symlink('../../outer/kept', join(target, 'data/file'))
    expect(await sent(file('file'))).toEqual({ code: 0, err: '' })
    expect(await sent(link('new', 'old'), file('new'), file('old/added'))).toMatchObject({ code: 1 })
    expect(await readdir(join(folder, 'outer'))).toEqual(['kept'])
    expect(await readFile(join(folder, 'outer/kept'), 'utf8')).toBe('mine')
    expect((await lstat(join(target, 'data/file'))).isFile()).toBe(true)
  })

  it('gives no file the setuid bit, and makes no devices', async () => {
    const bits = { header: { name: 'bits', type: 'file', size: 1, mode: 0o6755 }, body: 'x' } as const
    const device = { header: { name: 'null', type: 'character-device', size: 0 } } as const
    expect(await sent(bits, device)).toMatchObject({
      code: 1,
      err: expect.stringContaining('left out: null') as string,
    })
    expect((await lstat(join(target, 'bits'))).mode & 0o7777).toBe(0o755)
    expect(await readdir(target)).toEqual(['bits'])
  })

  it('shows no escapes of a name on the terminal', async () => {
    const { code, err } = await sent(file('../\u001B[2J\u0007name'))
    expect(code).toBe(1)
    // oxlint-disable-next-line no-control-regex
    expect(err).not.toMatch(/[\u0000-\u0009\u000B-\u001F]/)
  })

  it('is told from an archive that is none', async () => {
    const { code, err } = await copyFrom((request, response) => {
      response.end(request.url?.includes('/fs/archive') === true ? 'x'.repeat(5000) : FOLDER)
    })
    expect({ code, err }).toEqual({ code: 1, err: 'offshoot: the sandbox sent something that is no tar archive\n' })
  })
})

/** The folder `/data` with `large` and `other/small`. The first archive of it breaks in the middle of `large`. */
async function folderThatBreaks(order: readonly ('large' | 'other')[]): Promise<RequestListener> {
  const content = 'x'.repeat(300_000)
  const header = { name: 'large', type: 'file', size: content.length, mtime: new Date(1000) } as const
  const whole = await packTar([{ header, body: content }])
  const other = await packTar([file('small')])
  const entries = {
    large: { name: 'large', type: 'file', mode: '0644', size: content.length, mtime: 1 },
    other: { name: 'other', type: 'dir', mode: '0755', size: 0, mtime: 1 },
  }
  return (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://sandbox')
    const path = searchParams.get('path')
    if (pathname.endsWith('/fs/archive') && path === '/data') {
      response.writeHead(200, { 'content-length': whole.length })
      response.write(whole.subarray(0, 200_000), () => setImmediate(() => response.destroy()))
    } else if (pathname.endsWith('/fs/archive')) {
      response.end(other)
    } else if (pathname.endsWith('/fs/dir')) {
      response.end(JSON.stringify({ path, entries: order.map((name) => entries[name]) }))
    } else if (pathname.endsWith('/fs')) {
      const from = Number(/\d+/.exec(request.headers.range ?? '0')?.[0])
      response.writeHead(from === 0 ? 200 : 206).end(content.slice(from))
    } else {
      response.end(FOLDER)
    }
  }
}

describe('a connection that breaks inside a file', () => {
  it.each([[['large', 'other'] as const], [['other', 'large'] as const]])(
    'leaves no part of it behind, if the folder lists %j',
    async (order) => {
      expect(await copyFrom(await folderThatBreaks(order))).toEqual({ code: 0, err: '' })
      expect((await readdir(target)).toSorted()).toEqual(['large', 'other'])
      expect(await readFile(join(target, 'large'), 'utf8')).toHaveLength(300_000)
      expect(await readFile(join(target, 'other/small'), 'utf8')).toBe('written')
    },
  )
})
