import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { chmod, mkdir, readdir, readFile, symlink, truncate, writeFile } from 'node:fs/promises'
import { request as httpRequest } from 'node:http'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import type { GuestLink } from '@offshoot/guest-link/link'
import { HostGuest } from '@offshoot/guest-link/testing/host-guest'
import Fastify, { type FastifyInstance } from 'fastify'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Agent } from '../../sandbox/agent.ts'
import { answerErrors } from '../request/answer-errors.ts'
import { fileRoutes } from './file-routes.ts'

const MIB = 1024 ** 2
const LIMIT_BYTES = 4 * MIB
const id = randomUUID()

let guest: HostGuest
let link: GuestLink
let server: FastifyInstance
let base: string
let folder: string

beforeAll(async () => {
  guest = await HostGuest.start()
  link = await guest.connect()
  folder = join(guest.root, 'files')
  await mkdir(folder)
  const vm = { hasEnded: false, link: async () => link }
  const sandbox = { id, workspaceId: id, manifest: { status: 'running' }, stopping: undefined, vm }
  const host = { sandboxes: new Map([[id, sandbox]]) }
  // A real guest program without a VM. The fields that are left out here are not used by the routes.
  const agent = { host, maxUploadBytes: LIMIT_BYTES, stopping: new AbortController().signal } as unknown as Agent
  server = Fastify()
  server.decorateRequest('caller')
  server.addHook('onRequest', async (request) => {
    request.caller = { workspaceId: null }
  })
  answerErrors(server)
  fileRoutes(server, agent)
  base = `${await server.listen({ host: '127.0.0.1', port: 0 })}/v1/sandboxes/${id}/`
})

afterAll(async () => {
  await server?.close()
  link?.close()
  await guest?.stop()
})

const escaped = (path: string | Uint8Array) =>
  [...Buffer.from(path)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('')
const at = (name: string | Uint8Array) => escaped(Buffer.concat([Buffer.from(`${folder}/`), Buffer.from(name)]))

async function ask(method: string, route: string, init: RequestInit = {}) {
  const response = await fetch(base + route, { method, ...init })
  const bytes = Buffer.from(await response.arrayBuffer())
  const isJson = response.headers.get('content-type')?.startsWith('application/json') === true && bytes.length > 0
  return { status: response.status, headers: response.headers, bytes, body: isJson ? JSON.parse(String(bytes)) : null }
}

async function listedPaths(query: string): Promise<string[]> {
  const { body } = await ask('GET', `fs/dir?path=${at('depth')}${query}`)
  return body.entries.map(({ path }: { path: string }) => path.slice(join(folder, 'depth/').length))
}

describe('file routes', () => {
  it('write and read any bytes, with any content type', async () => {
    const all = Buffer.from(Array.from({ length: 300_000 }, (_, i) => i % 256))
    for (const body of [Buffer.alloc(0), all, Buffer.from('{"broken')]) {
      const headers = { 'content-type': 'application/json' }
      const written = await ask('PUT', `fs?path=${at('deep/er/file')}`, { body, headers })
      expect([written.status, written.body]).toEqual([200, { path: join(folder, 'deep/er/file'), bytes: body.length }])
      const { status, headers: answered, bytes } = await ask('GET', `fs?path=${at('deep/er/file')}`)
      const shown = ['content-type', 'content-length'].map((name) => answered.get(name))
      expect([status, ...shown]).toEqual([200, 'application/octet-stream', String(body.length)])
      expect(bytes.equals(body)).toBe(true)
    }
  })

  it('list every file name so that a caller can request the file again', async () => {
    const names = ['B', 'a b', 'a+b', '100%', '%2F', 'a\nb', '"\\', '...', 'ñ 日本 😀', 'n'.repeat(255)].map((name) =>
      Buffer.from(name),
    )
    names.push(Buffer.from([0x61, 0xff, 0xfe, 0x80]))
    for (const name of names) {
      const path = Buffer.concat([Buffer.from('names/'), name])
      expect((await ask('PUT', `fs?path=${at(path)}`, { body: name })).status).toBe(200)
    }
    const { body } = await ask('GET', `fs/dir?path=${at('names')}`)
    const sorted = names.toSorted((a, b) => Buffer.compare(a, b))
    expect(body.entries.map(({ name }: { name: string }) => name)).toEqual(sorted.map(String))
    for (const [i, entry] of body.entries.entries()) {
      const again = entry.path_encoded ?? encodeURIComponent(entry.path)
      expect((await ask('GET', `fs?path=${again}`)).bytes).toEqual(sorted[i])
      expect((await ask('GET', `fs/stat?path=${again}`)).body).toEqual(entry)
    }
  })

  it('list all entries of a large folder', async () => {
    await mkdir(join(folder, 'many'))
    await Promise.all(Array.from({ length: 1201 }, (_, i) => writeFile(join(folder, 'many', `${i}`), '')))
    const { body } = await ask('GET', `fs/dir?path=${at('many')}`)
    expect(body.entries).toHaveLength(1201)
    await mkdir(join(folder, 'none'))
    expect((await ask('GET', `fs/dir?path=${at('none')}`)).body).toEqual({ path: join(folder, 'none'), entries: [] })
  })

  it('list a folder with a depth, sorted by path', async () => {
    for (const name of ['depth/b/c/d', 'depth/b/a', 'depth/b.x']) await ask('PUT', `fs?path=${at(name)}`, { body: '' })
    expect(await listedPaths('')).toEqual(['b', 'b.x'])
    expect(await listedPaths('&depth=2')).toEqual(['b', 'b.x', 'b/a', 'b/c'])
    expect(await listedPaths('&depth=100')).toEqual(['b', 'b.x', 'b/a', 'b/c', 'b/c/d'])
  })

  it.each(['0', '101', '-1', '1.5', 'x', '', '1&depth=1'])('refuse the depth %s', async (depth) => {
    const { status, body } = await ask('GET', `fs/dir?path=${at('')}&depth=${depth}`)
    expect([status, body]).toEqual([400, { error: 'depth must be an integer from 1 to 100' }])
  })

  it('refuse a list with too many bytes of names', { tags: ['long'] }, async () => {
    // 98 levels of the longest name, and 2750 empty folders in the last: their paths have 69 MB.
    const script = `import os
os.chdir('${folder}')
for part in ['long'] + ['n' * 255] * 98:
  os.mkdir(part); os.chdir(part)
for i in range(2750): os.mkdir(str(i))`
    execFileSync('python3', ['-c', script])
    const { status, body } = await ask('GET', `fs/dir?path=${at('long')}&depth=100`)
    expect([status, body]).toEqual([400, { error: 'directory has more than 64 MiB of names' }])
    expect((await ask('DELETE', `fs?path=${at('long')}&recursive=1`)).status).toBe(204)
  })

  const routes = [
    ['GET', 'fs'],
    ['HEAD', 'fs'],
    ['PUT', 'fs'],
    ['DELETE', 'fs'],
    ['GET', 'fs/dir'],
    ['GET', 'fs/stat'],
    ['POST', 'fs/mkdir'],
    ['POST', 'fs/move'],
    ['GET', 'fs/archive'],
    ['PUT', 'fs/archive'],
    ['GET', 'fs/watch'],
  ] as const

  it.each(routes)('%s %s refuses an unknown user, and changes nothing', async (method, route) => {
    await mkdir(join(folder, 'kept'), { recursive: true })
    const to = route === 'fs/move' ? `&to=${at('gone')}` : ''
    const init = method === 'PUT' ? { body: 'x' } : {}
    const query = `path=${at('kept/none')}${to}&parents=1`
    for (const [account, error] of [
      ['user=nosuchuser', 'no such user: nosuchuser'],
      ['user=no%20such%00user', 'user must not contain NUL'],
      ['user=4294967295', 'no such user: 4294967295'],
      ['owner=nosuchuser', 'no such user: nosuchuser'],
      ['owner=root&owner=root', 'owner must be given once'],
      ['owner=root&user=root', 'user and owner must not be given together'],
    ] as const) {
      const answer = await ask(method, `${route}?${query}&${account}`, init)
      expect(answer).toMatchObject({ status: 400, body: method === 'HEAD' ? null : { error } })
    }
    expect(await readdir(join(folder, 'kept'))).toEqual([])
  })

  it('work with the rights of the user, who owns what they make', async () => {
    await chmod(guest.root, 0o755)
    await mkdir(join(folder, 'shared'))
    await chmod(join(folder, 'shared'), 0o777)
    await writeFile(join(folder, 'closed'), 'secret', { mode: 0o600 })
    for (const user of ['nobody', '65534']) {
      const as = (method: string, route: string, path: string, init = {}) =>
        ask(method, `${route}?path=${at(path)}&user=${user}`, init)
      for (const [method, route, path] of [
        ['GET', 'fs', 'closed'],
        ['PUT', 'fs', 'closed'],
        ['DELETE', 'fs', 'closed'],
        ['POST', 'fs/mkdir', 'new'],
        ['PUT', 'fs/archive', 'new'],
      ] as const) {
        const { status, body } = await as(method, route, path, method === 'PUT' ? { body: '' } : {})
        expect([status, body]).toEqual([400, { error: 'permission denied' }])
      }
      expect((await as('PUT', 'fs', `shared/${user}/a/file`, { body: 'x' })).status).toBe(200)
      const { body } = await ask('GET', `fs/dir?path=${at(`shared/${user}`)}&depth=2&user=${user}`)
      expect(body.entries).toMatchObject([
        { name: 'a', uid: 65_534, user: 'nobody', mode: '0755' },
        { name: 'file', uid: 65_534, user: 'nobody', mode: '0644' },
      ])
    }
  })

  it.each([
    ['bytes=0-3', 206, '0123', 'bytes 0-3/10'],
    ['bytes=4-', 206, '456789', 'bytes 4-9/10'],
    ['bytes=-2', 206, '89', 'bytes 8-9/10'],
    ['bytes=8-99', 206, '89', 'bytes 8-9/10'],
    ['bytes=10-', 416, '{"error":"range not satisfiable"}', 'bytes */10'],
    ['bytes=-0', 416, '{"error":"range not satisfiable"}', 'bytes */10'],
    ['bytes=0-1,4-5', 200, '0123456789', null],
    ['lines=0-1', 200, '0123456789', null],
  ])('serve the range %s', async (range, status, content, contentRange) => {
    await writeFile(join(folder, 'ten'), '0123456789')
    const answer = await ask('GET', `fs?path=${at('ten')}`, { headers: { range } })
    const shown = ['content-range', 'content-length'].map((name) => answer.headers.get(name))
    const expected = [status, content, contentRange, String(content.length)]
    expect([answer.status, answer.bytes.toString(), ...shown]).toEqual(expected)
  })

  it('compare entity tags: 304, and If-Range', async () => {
    await writeFile(join(folder, 'tagged'), '0123456789')
    const head = await ask('HEAD', `fs?path=${at('tagged')}`)
    expect([head.status, head.headers.get('content-length'), head.bytes.length]).toEqual([200, '10', 0])
    const etag = head.headers.get('etag') ?? ''
    const get = (headers: Record<string, string>) => ask('GET', `fs?path=${at('tagged')}`, { headers })
    expect((await get({ 'if-none-match': `"x", ${etag}` })).status).toBe(304)
    expect((await get({ range: 'bytes=1-2', 'if-range': etag })).bytes.toString()).toBe('12')
    expect((await get({ range: 'bytes=1-2', 'if-range': '"x"' })).bytes).toHaveLength(10)
  })

  it('serve the last bytes of a sparse file of 5 GiB', async () => {
    await writeFile(join(folder, 'sparse'), '')
    await truncate(join(folder, 'sparse'), 5 * 1024 * MIB)
    const tail = await ask('GET', `fs?path=${at('sparse')}`, { headers: { range: 'bytes=-4' } })
    expect([tail.status, tail.bytes.toString('hex')]).toEqual([206, '00000000'])
    expect(tail.headers.get('content-range')).toBe('bytes 5368709116-5368709119/5368709120')
  })

  it('ignore ranges of a file without a known size', async () => {
    const answer = await ask('GET', 'fs?path=/proc/version', { headers: { range: 'bytes=0-3' } })
    expect([answer.status, answer.headers.get('content-length')]).toEqual([200, null])
    expect(answer.bytes).toEqual(await readFile('/proc/version'))
  })

  it('set the requested mode, and keep the mode of an existing file', async () => {
    for (const [query, mode] of [
      ['', '0644'],
      ['&mode=750', '0750'],
      ['', '0750'],
    ]) {
      await ask('PUT', `fs?path=${at('moded')}${query}`, { body: 'x' })
      expect((await ask('GET', `fs/stat?path=${at('moded')}`)).body.mode).toBe(mode)
    }
  })

  it('make, move and remove folders', async () => {
    const made = await ask('POST', `fs/mkdir?path=${at('new/a')}&parents=1&mode=0700`)
    expect([made.status, made.body]).toMatchObject([201, { name: 'a', type: 'dir', mode: '0700' }])
    const moved = await ask('POST', `fs/move?path=${at('new/a')}&to=${at('moved/here')}&parents=1`)
    expect([moved.status, moved.body]).toMatchObject([200, { path: join(folder, 'moved/here'), is_dir: true }])
    expect((await ask('DELETE', `fs?path=${at('moved')}`)).body).toEqual({ error: 'is a directory' })
    expect((await ask('DELETE', `fs?path=${at('moved')}&recursive=yes`)).status).toBe(204)
    expect((await ask('DELETE', `fs?path=${at('moved')}&recursive=yes`)).status).toBe(404)
  })

  it('download and unpack folders as tar streams', async () => {
    await mkdir(join(folder, 'tree/sub'), { recursive: true })
    await writeFile(join(folder, 'tree/sub/a'), 'content')
    await symlink('sub/a', join(folder, 'tree/link'))
    const tar = await ask('GET', `fs/archive?path=${at('tree')}`)
    expect([tar.status, tar.headers.get('content-type')]).toEqual([200, 'application/x-tar'])
    await mkdir(join(folder, 'copy'))
    const unpacked = await ask('PUT', `fs/archive?path=${at('copy')}`, { body: tar.bytes })
    expect([unpacked.status, unpacked.body]).toEqual([200, { path: join(folder, 'copy'), entries: 3, bytes: 7 }])
    expect(await readFile(join(folder, 'copy/link'), 'utf8')).toBe('content')
  })

  it('refuse an upload that is too large, with or without Content-Length, and keep the old file', async () => {
    await writeFile(join(folder, 'limited'), 'old')
    const tooLarge = [413, { error: 'request body too large', max_bytes: LIMIT_BYTES }]
    const announced = await ask('PUT', `fs?path=${at('limited')}`, { body: Buffer.alloc(LIMIT_BYTES + 1) })
    expect([announced.status, announced.body]).toEqual(tooLarge)
    const chunks = Array.from({ length: LIMIT_BYTES / MIB + 1 }, () => Buffer.alloc(MIB))
    const stream = Readable.toWeb(Readable.from(chunks)) as ReadableStream
    const counted = await ask('PUT', `fs?path=${at('limited')}`, { body: stream, duplex: 'half' })
    expect([counted.status, counted.body]).toEqual(tooLarge)
    expect(await readFile(join(folder, 'limited'), 'utf8')).toBe('old')
  })

  it('leave the old file in place when the caller disconnects during an upload', async () => {
    await mkdir(join(folder, 'left'))
    await writeFile(join(folder, 'left/file'), 'old')
    const request = httpRequest(`${base}fs?path=${at('left/file')}`, { method: 'PUT', agent: false })
    request.on('error', () => undefined).setHeader('content-length', 2 * MIB)
    const logged = once(server.server, 'request')
    request.write(Buffer.alloc(MIB))
    const [, response] = (await logged) as [unknown, NodeJS.EventEmitter]
    const over = once(response, 'close')
    request.destroy()
    await over
    // The guest answers operations in order: after this answer the aborted upload has ended, too.
    await ask('GET', `fs/stat?path=${at('left')}`)
    expect(await readdir(join(folder, 'left'))).toEqual(['file'])
    expect(await readFile(join(folder, 'left/file'), 'utf8')).toBe('old')
  })
})
