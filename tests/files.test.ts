import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openEvents } from './setup/event-stream.ts'
import { Offshoot } from './setup/offshoot.ts'
import { REFUSED_FILE_REQUESTS } from './setup/refused-file-requests.ts'
import { SandboxFiles } from './setup/sandbox-files.ts'
import { until } from './setup/until.ts'

const MIB = 1024 ** 2
/** The template's disk has 64 MiB, and a file exists twice while it is replaced. */
const LIMIT_MIB = 16
/** MiB to upload and download: more than a service's memory may grow. */
const LARGE_MIB = 128

let offshoot: Offshoot
let files: SandboxFiles
beforeAll(async () => {
  offshoot = await Offshoot.start('files', { env: { OFFSHOOT_MAX_UPLOAD_MIB: String(LIMIT_MIB) } })
  files = new SandboxFiles(offshoot, (await offshoot.create()).id)
})
afterAll(async () => {
  await offshoot?.destroy()
})

const escaped = (path: Uint8Array | string) =>
  [...Buffer.from(path)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('')

/** Resident MiB of the larger of the two services. */
async function residentMib(): Promise<number> {
  const services = await Promise.all([offshoot.service('control'), offshoot.service('agent')])
  const sizes = services.map(async (service) => {
    const status = await readFile(`/proc/${service?.pid}/status`, 'utf8')
    return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) / 1024
  })
  return Math.max(...(await Promise.all(sizes)))
}

describe('files', () => {
  it('come back as they were sent: nothing, text, every byte, and what calls itself JSON', async () => {
    const all = Buffer.from(Array.from({ length: 70_000 }, (_, i) => i % 256))
    for (const body of [Buffer.alloc(0), Buffer.from('hello'), all, Buffer.from('{"broken')]) {
      const written = await files.ask('PUT', 'fs?path=/tmp/deep/er/file', { body })
      expect([written.status, written.body]).toEqual([200, { path: '/tmp/deep/er/file', bytes: body.length }])
      const { response, bytes } = await files.download('fs?path=/tmp/deep/er/file')
      expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/octet-stream'])
      expect(response.headers.get('content-length')).toBe(String(body.length))
      expect(bytes.equals(body)).toBe(true)
    }
  })

  it('take a mode, and keep the one they have', async () => {
    const mode = async () => (await files.ask('GET', 'fs/stat?path=/tmp/moded')).body.mode
    await files.ask('PUT', 'fs?path=/tmp/moded', { body: 'x' })
    expect(await mode()).toBe('0644')
    await files.ask('PUT', 'fs?path=/tmp/moded&mode=0750', { body: 'x' })
    expect(await mode()).toBe('0750')
    await files.ask('PUT', 'fs?path=/tmp/moded', { body: 'y' })
    expect(await mode()).toBe('0750')
    expect((await files.ask('PUT', 'fs?path=/tmp/moded&mode=888', { body: 'z' })).status).toBe(400)
    expect(await files.sh('cat /tmp/moded')).toBe('y')
  })

  it.each([
    ['a space', 'a b'],
    ['a plus', 'a+b'],
    ['a percent', '100%'],
    ['an escape that is none', '%2F'],
    ['a newline', 'a\nb'],
    ['a quote and a backslash', '"\\\''],
    ['dots', '...'],
    ['a control character', 'a\u0001\u007F'],
    ['letters of everywhere', 'ñ 日本 😀'],
    ['no UTF-8', Buffer.from([0x61, 0xff, 0xfe, 0x80])],
    ['255 bytes', 'n'.repeat(255)],
  ])('may have a name with %s', { tags: ['faults'] }, async (_what, name) => {
    const folder = `/tmp/names-${createHash('sha256').update(name).digest('hex').slice(0, 8)}`
    const path = Buffer.concat([Buffer.from(`${folder}/`), Buffer.from(name)])
    expect((await files.ask('PUT', `fs?path=${escaped(path)}`, { body: 'content' })).status).toBe(200)
    const listing = await files.ask('GET', `fs/dir?path=${folder}`)
    expect(listing.body.entries).toHaveLength(1)
    const [entry] = listing.body.entries
    expect(entry).toMatchObject({ name: Buffer.from(name).toString(), path: path.toString(), size: 7 })
    const again = entry.path_encoded ?? encodeURIComponent(entry.path)
    expect((await files.ask('GET', `fs?path=${again}`)).text).toBe('content')
    expect((await files.ask('GET', `fs/stat?path=${again}`)).body).toEqual(entry)
    expect((await files.ask('POST', `fs/move?path=${again}&to=${again}2&overwrite=1`)).status).toBe(
      name.length === 255 ? 400 : 200,
    )
    expect((await files.ask('DELETE', `fs?path=${folder}&recursive=1`)).status).toBe(204)
  })

  it('are listed by the bytes of their names, with what each is', async () => {
    await files.sh(
      'mkdir -p /tmp/list/dir && cd /tmp/list && echo hi > B && touch -d @1700000000 B && ln -s ../x a && mkfifo f && touch é',
    )
    const { body } = await files.ask('GET', 'fs/dir?path=/tmp/list')
    expect(body.path).toBe('/tmp/list')
    expect(body.entries.map(({ name, type, is_dir }: Record<string, unknown>) => [name, type, is_dir])).toEqual([
      ['B', 'file', false],
      ['a', 'symlink', false],
      ['dir', 'dir', true],
      ['f', 'other', false],
      ['é', 'file', false],
    ])
    expect(body.entries[0]).toEqual({
      name: 'B',
      path: '/tmp/list/B',
      type: 'file',
      is_dir: false,
      size: 3,
      mode: '0644',
      mtime: 1_700_000_000,
      mtime_ms: 1_700_000_000_000,
      uid: 0,
      gid: 0,
      user: 'root',
      group: 'root',
    })
    expect(body.entries[1].target).toBe('../x')
    expect((await files.ask('GET', 'fs/dir?path=/tmp/list/dir')).body).toEqual({ path: '/tmp/list/dir', entries: [] })
    const many = await files.sh('mkdir /tmp/many && cd /tmp/many && for i in $(seq 1200); do : > $i; done; ls | wc -l')
    expect((await files.ask('GET', 'fs/dir?path=/tmp/many')).body.entries).toHaveLength(Number(many))
  })

  it.each([
    ['bytes=0-3', 206, '0123', 'bytes 0-3/10'],
    ['bytes=4-', 206, '456789', 'bytes 4-9/10'],
    ['bytes=-2', 206, '89', 'bytes 8-9/10'],
    ['bytes=8-99', 206, '89', 'bytes 8-9/10'],
    ['bytes=9-9', 206, '9', 'bytes 9-9/10'],
    ['bytes=10-', 416, '{"error":"range not satisfiable"}', 'bytes */10'],
    ['bytes=-0', 416, '{"error":"range not satisfiable"}', 'bytes */10'],
    ['bytes=0-1,4-5', 200, '0123456789', null],
    ['bytes=x', 200, '0123456789', null],
    ['lines=0-1', 200, '0123456789', null],
  ])('are given in part: %s', { tags: ['faults'] }, async (range, status, content, contentRange) => {
    await files.ask('PUT', 'fs?path=/tmp/ten', { body: '0123456789' })
    const { response, bytes } = await files.download('fs?path=/tmp/ten', { range })
    expect([response.status, bytes.toString()]).toEqual([status, content])
    expect(response.headers.get('content-range')).toBe(contentRange)
    expect(response.headers.get('content-length')).toBe(String(content.length))
  })

  it('are described by HEAD, and not sent again to who has them', async () => {
    await files.ask('PUT', 'fs?path=/tmp/tag', { body: '0123456789' })
    const head = await files.ask('HEAD', 'fs?path=/tmp/tag')
    expect([head.status, head.headers['content-length'], head.text]).toEqual([200, '10', ''])
    const etag = head.headers.etag ?? ''
    expect((await files.ask('GET', 'fs?path=/tmp/tag', { headers: { 'if-none-match': `"x", ${etag}` } })).status).toBe(
      304,
    )
    const range = { range: 'bytes=1-2' }
    expect((await files.ask('GET', 'fs?path=/tmp/tag', { headers: { ...range, 'if-range': etag } })).text).toBe('12')
    expect(
      (await files.ask('GET', 'fs?path=/tmp/tag', { headers: { ...range, 'if-range': '"x"' } })).text,
    ).toHaveLength(10)
    expect((await files.ask('HEAD', 'fs?path=/tmp/nothing')).status).toBe(404)
  })

  it('of unknown size come whole: /proc', async () => {
    const { response, bytes } = await files.download('fs?path=/proc/version', { range: 'bytes=0-3' })
    expect([response.status, response.headers.get('content-length')]).toEqual([200, null])
    expect(bytes.toString()).toBe(await files.sh('cat /proc/version'))
  })
})

describe('refused, at once and with a sentence', () => {
  beforeAll(async () => {
    await files.sh(
      'cd /tmp && mkdir -p d/full/x && mkfifo fifo && ln -s loop1 loop2 && ln -s loop2 loop1 && echo f > file && ln -s file link',
    )
  })

  it.each(REFUSED_FILE_REQUESTS)('%s %.60s', async (method, route, status, error) => {
    const answer = await files.ask(method, route, method === 'PUT' ? { body: 'x'.repeat(600) } : {})
    expect([answer.status, answer.body]).toEqual([status, { error }])
  })

  it('over the configured size, by its announcement or by its bytes, and the old file stays', async () => {
    await files.ask('PUT', 'fs?path=/tmp/limited', { body: 'old' })
    const announced = files.begin('PUT', 'fs?path=/tmp/limited', { 'content-length': String(LIMIT_MIB * MIB + 1) })
    announced.flushHeaders()
    const [refusal] = (await once(announced, 'response')) as [{ statusCode: number }]
    expect(refusal.statusCode).toBe(413)
    announced.destroy()
    const counted = files.begin('PUT', 'fs?path=/tmp/limited', { 'transfer-encoding': 'chunked' })
    const answered = once(counted, 'response') as Promise<[{ statusCode: number }]>
    for (let i = 0; i < LIMIT_MIB; i += 1) counted.write(Buffer.alloc(MIB))
    counted.end('x')
    expect((await answered)[0].statusCode).toBe(413)
    expect(await files.sh('cat /tmp/limited')).toBe('old')
  })

  it('on a full disk, and the old file stays', { tags: ['faults'] }, async () => {
    await files.ask('PUT', 'fs?path=/tmp/old', { body: 'old' })
    await files.sh('dd if=/dev/zero of=/tmp/filler bs=1M 2>/dev/null; true')
    const answer = await files.ask('PUT', 'fs?path=/tmp/old', { body: Buffer.alloc(8 * MIB) })
    expect([answer.status, answer.body]).toEqual([507, { error: 'no space left in the sandbox' }])
    expect((await files.ask('GET', 'fs?path=/tmp/old')).text).toBe('old')
    expect((await files.ask('DELETE', 'fs?path=/tmp/filler')).status).toBe(204)
    expect((await files.ask('PUT', 'fs?path=/tmp/old', { body: Buffer.alloc(8 * MIB) })).status).toBe(200)
    await files.ask('DELETE', 'fs?path=/tmp/old')
  })

  it('an upload whose caller leaves in the middle: the old file stays, and nothing beside it', async () => {
    await files.ask('PUT', 'fs?path=/tmp/left/file', { body: 'old' })
    const request = files.begin('PUT', 'fs?path=/tmp/left/file', { 'content-length': String(4 * MIB) })
    request.write(Buffer.alloc(MIB))
    await until(
      'the write in the guest',
      async () => Number(await files.sh('ls -l /proc/[0-9]*/fd 2>/dev/null | grep -c /tmp/left || true')) > 0,
    )
    request.destroy()
    await until(
      'its end',
      async () => Number(await files.sh('ls -l /proc/[0-9]*/fd 2>/dev/null | grep -c /tmp/left || true')) === 0,
    )
    expect(await files.sh('ls -A /tmp/left; cat /tmp/left/file')).toBe('file\nold')
  })
})

describe('folders', () => {
  it('are made, moved and removed', async () => {
    const made = await files.ask('POST', 'fs/mkdir?path=/tmp/new/a/b&parents=1&mode=0700')
    expect([made.status, made.body]).toMatchObject([
      201,
      { name: 'b', path: '/tmp/new/a/b', type: 'dir', mode: '0700' },
    ])
    expect((await files.ask('POST', 'fs/mkdir?path=/tmp/new/a/b&parents=1')).status).toBe(201)
    const moved = await files.ask('POST', 'fs/move?path=/tmp/new/a&to=/tmp/moved/here&parents=1')
    expect([moved.status, moved.body]).toMatchObject([200, { path: '/tmp/moved/here', is_dir: true }])
    expect((await files.ask('DELETE', 'fs?path=/tmp/moved&recursive=true')).status).toBe(204)
    expect(await files.sh('ls -A /tmp/new; ls /tmp/moved 2>&1 | grep -c "No such"')).toBe('1\n')
  })

  it('travel as tar streams', async () => {
    await files.sh(
      'mkdir -p /tmp/tree/sub && cd /tmp/tree && echo one > 1 && seq 100000 > sub/2 && ln -s 1 link && chmod 600 1',
    )
    const { response, bytes } = await files.download('fs/archive?path=/tmp/tree')
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/x-tar'])
    const unpacked = await files.ask('PUT', 'fs/archive?path=/tmp/new/copy', { body: bytes })
    expect([unpacked.status, unpacked.body]).toMatchObject([200, { path: '/tmp/new/copy', entries: 4 }])
    const compare = 'cd /tmp/new && diff -r /tmp/tree copy && readlink copy/link && stat -c %a copy/1'
    expect(await files.sh(compare)).toBe('1\n600\n')
    // Unpack into an existing folder, also through a link.
    await files.sh('rm /tmp/new/copy/1 && ln -s new/copy /tmp/to-copy')
    expect((await files.ask('PUT', 'fs/archive?path=/tmp/to-copy', { body: bytes })).status).toBe(200)
    expect(await files.sh(compare)).toBe('1\n600\n')
  })

  it('are watched', async () => {
    await files.sh('mkdir -p /tmp/watched/sub')
    const { api_key } = offshoot.credentials
    const stream = await openEvents(
      offshoot,
      'GET',
      files.at(`fs/watch?path=/tmp/watched&recursive=1&access_token=${api_key}`),
    )
    expect(stream.response.headers).toMatchObject({ 'cache-control': 'no-cache', 'x-accel-buffering': 'no' })
    await files.sh('cd /tmp/watched && echo x > sub/a && mv sub/a b && mkdir c && rm b')
    const seen: string[] = []
    while (!seen.includes('deleted /tmp/watched/b')) {
      const { value } = await stream.next()
      seen.push(`${value.event} ${value.data.path}${value.data.to === undefined ? '' : ` ${value.data.to}`}`)
    }
    expect(seen).toContain('created /tmp/watched/sub/a')
    expect(seen).toContain('modified /tmp/watched/sub/a')
    expect(seen).toContain('moved /tmp/watched/sub/a /tmp/watched/b')
    expect(seen).toContain('created /tmp/watched/c')
    await files.sh('rm -rf /tmp/watched')
    const rest = await stream.rest()
    expect(rest.at(-1)).toMatchObject({ event: 'error', data: { error: 'the directory is gone' } })
  })
})

describe('large files', () => {
  it('pass in flat memory, both ways', { tags: ['long'] }, async () => {
    await files.sh('truncate -s 5G /tmp/sparse')
    expect((await files.ask('HEAD', 'fs?path=/tmp/sparse')).headers['content-length']).toBe(String(5 * 1024 * MIB))
    const tail = await files.download('fs?path=/tmp/sparse', { range: `bytes=${5 * 1024 * MIB - 4}-` })
    expect([tail.response.status, tail.bytes.toString('hex')]).toEqual([206, '00000000'])
    const part = Buffer.alloc(LIMIT_MIB * MIB, 'p')
    const before = await residentMib()
    for (let i = 0; i < LARGE_MIB / LIMIT_MIB; i += 1) {
      expect((await files.ask('PUT', 'fs?path=/tmp/part', { body: part })).body.bytes).toBe(part.length)
    }
    const response = await files.open('fs?path=/tmp/sparse', { range: `bytes=0-${LARGE_MIB * MIB - 1}` })
    let bytes = 0
    for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) bytes += chunk.length
    expect(bytes).toBe(LARGE_MIB * MIB)
    expect((await residentMib()) - before).toBeLessThan(100)
    await files.ask('DELETE', 'fs?path=/tmp/part')
  })
})
