/** @module-tag long */
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import fc from 'fast-check'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { borrow, giveBack } from './setup/server-pool.ts'
import type { Offshoot } from './setup/offshoot.ts'
import { SandboxFiles } from './setup/sandbox-files.ts'
import { until } from './setup/until.ts'
import { TestSocket } from './setup/web-socket.ts'

const MIB = 1024 ** 2
/** Close codes that the server may send: protocol errors, and refused frames. */
const CLOSE_CODES = [1000, 1002, 1003, 1007, 1008, 1009]

let offshoot: Offshoot
let id: string
let files: SandboxFiles
beforeAll(async () => {
  offshoot = await borrow()
  ;({ id } = await offshoot.create())
  files = new SandboxFiles(offshoot, id)
  await files.sh('mkdir -p /tmp/fuzz/folder && printf 0123456789 > /tmp/fuzz/file')
})
afterAll(giveBack)
// The sandbox must work after any input.
afterEach(async () => {
  expect(await files.sh('echo works')).toBe('works\n')
  expect((await files.ask('PUT', 'fs?path=/tmp/after', { body: 'round trip' })).status).toBe(200)
  expect((await files.ask('GET', 'fs?path=/tmp/after')).text).toBe('round trip')
})

interface Probe {
  send(socket: TestSocket, name: string): void
  isAnswered(socket: TestSocket, name: string): boolean
}

/** Sends all inputs on one socket, and opens another when the server has closed it. Then `probe` must be answered. */
async function answersTo(
  route: string,
  frames: fc.Arbitrary<string | Buffer>,
  probe: Probe,
): Promise<TestSocket['frames']> {
  let socket = await TestSocket.open(offshoot, files.at(route))
  const answers: TestSocket['frames'] = []
  let probes = 0
  await fc.assert(
    fc.asyncProperty(fc.array(frames, { minLength: 1, maxLength: 12 }), async (batch) => {
      for (const each of batch) socket.send(each)
      probes += 1
      const name = `probe-${probes}`
      probe.send(socket, name)
      await until(`${name} answered`, () => socket.closed !== undefined || probe.isAnswered(socket, name))
      answers.push(...socket.frames.splice(0))
      if (socket.closed === undefined) return
      expect(CLOSE_CODES).toContain(socket.closed.code)
      socket = await TestSocket.open(offshoot, files.at(route))
    }),
    { numRuns: 60 },
  )
  await socket.close()
  return answers
}

describe('file routes', () => {
  const visible = fc.string({ unit: fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code)) })
  const escapes = fc.uint8Array({ maxLength: 40 }).map((bytes) => [...bytes].map((byte) => `%${byte.toString(16)}`))
  // No path leaves the folder, because some requests delete.
  const inFolder = escapes.map((parts) => `/tmp/fuzz/${parts.join('').replaceAll(/%2[ef]/g, '_')}`)
  const path = fc.oneof(fc.constantFrom('/tmp/fuzz/file', '/tmp/fuzz/folder', '/tmp/fuzz/file/x'), inFolder)
  const option = fc.tuple(fc.constantFrom('to', 'mode', 'recursive', 'parents', 'overwrite', 'zzz'), visible)
  const whole = fc
    .tuple(path, fc.array(option, { maxLength: 3 }))
    .map(([at, options]) => [['path', at], ...options].map(([name, value]) => `${name}=${value}`).join('&'))
  const query = fc.oneof(
    whole,
    visible.filter((text) => !/path=(\/|%2f)/i.test(text)),
  )
  const header = fc.tuple(
    fc.constantFrom('range', 'if-range', 'if-none-match', 'if-match', 'if-modified-since', 'content-type', 'accept'),
    fc.oneof(
      visible,
      visible.map((text) => `bytes=${text}`),
      fc.constantFrom('bytes=1-2', 'bytes=9-0', '*', '"a", W/"b"'),
    ),
  )
  const request = fc.record({
    method: fc.constantFrom('GET', 'HEAD', 'PUT', 'POST', 'DELETE', 'PATCH', 'OPTIONS'),
    route: fc.constantFrom('fs', 'fs/dir', 'fs/stat', 'fs/mkdir', 'fs/move', 'fs/archive', 'fs/watch', 'fs/zzz'),
    query,
    headers: fc.array(header, { maxLength: 3 }),
    body: fc.option(fc.uint8Array({ maxLength: 2_000 })),
  })

  it('answer every request with a success or a clear refusal', async () => {
    await fc.assert(
      fc
        .asyncProperty(request, async ({ method, route, query: asked, headers, body }) => {
          const sent = files.begin(method, `${route}?${asked.replaceAll('#', '%23')}`, Object.fromEntries(headers))
          sent.end(body ?? undefined)
          const [response] = (await once(sent, 'response')) as [IncomingMessage]
          try {
            expect(response.statusCode).toBeGreaterThanOrEqual(200)
            expect(response.statusCode).toBeLessThan(500)
            if (method === 'HEAD' || (response.statusCode ?? 0) < 400) return
            response.setEncoding('utf8')
            const answer = JSON.parse((await response.toArray()).join('')) as { error: unknown }
            expect(answer.error).toEqual(expect.any(String))
          } finally {
            // Watches never end by themselves.
            response.destroy()
          }
        })
        .beforeEach(async () => void (await files.ask('PUT', 'fs?path=/tmp/fuzz/file', { body: '0123456789' }))),
      { numRuns: 300 },
    )
  })
})

describe('sockets', () => {
  const wrong = fc.oneof(fc.jsonValue(), fc.constantFrom(-1, 0, 1.5, 2 ** 53, '', 'SIGNOT', [], {}, null))
  const names = ['id', 'stdin', 'stdin_eof', 'signal', 'cancel', 'timeout_seconds', 'cwd', 'env', 'user', 'resize']
  const fields = fc.dictionary(fc.constantFrom(...names), wrong)
  /** Frames as sent. No `cmd` is a string, because it would be executed. */
  const frame = fc.oneof(
    fields.map((value) => JSON.stringify(value)),
    fc.tuple(fields, wrong).map(([value, cmd]) => JSON.stringify({ ...value, id: 'x', cmd: [cmd] })),
    fc.jsonValue().map((value) => JSON.stringify(value)),
    fc.string({ unit: 'binary' }),
    fc.constantFrom('{', '{"id":', '[]', 'null', '', '{"__proto__":{"id":"x"}}', `"${'x'.repeat(MIB + 1)}"`),
    fc.constant('['.repeat(100_000)),
  )
  const bytes = fc.uint8Array({ maxLength: 2_000 }).map((value) => Buffer.from(value))

  it('of commands answer what is no frame with an error, and go on', async () => {
    const answers = await answersTo(
      'exec/ws',
      fc.oneof({ weight: 5, arbitrary: frame }, { weight: 1, arbitrary: bytes }),
      {
        send: (socket, name) => socket.send({ id: name, cmd: `echo ${name}` }),
        isAnswered: (socket, name) => socket.frames.some((answer) => answer.id === name && answer.exit === 0),
      },
    )
    expect(answers.map(({ error }) => error)).not.toContain('internal error')
  })

  it('of terminals answer what is no frame with an error, and go on', async () => {
    // Raw mode, so that no byte becomes a signal; no echo, so that only probes are answered.
    const cmd = encodeURIComponent('stty raw -echo; exec cat')
    const answers = await answersTo(
      `exec/pty?cmd=${cmd}`,
      fc.oneof({ weight: 5, arbitrary: frame }, { weight: 1, arbitrary: bytes }),
      {
        send: (socket, name) => socket.send({ stdin: `\n${name}.\n` }),
        isAnswered: (socket, name) => socket.bytes.includes(`${name}.`),
      },
    )
    expect(answers.map(({ error }) => error)).not.toContain('internal error')
  })

  it('are closed with a code when a frame is larger than any', async () => {
    for (const route of ['exec/ws', 'exec/pty']) {
      const socket = await TestSocket.open(offshoot, files.at(route))
      socket.send('x'.repeat(40 * MIB))
      expect(CLOSE_CODES).toContain((await socket.hungUp()).code)
    }
  })
})
