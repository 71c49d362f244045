/** Large bodies must pass in constant memory. */
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { type IncomingMessage, request as httpRequest } from 'node:http'
import { Readable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { until } from '../test/edge-under-test.ts'
import { serveEdge } from '../test/serve-edge.ts'

/** MiB in each direction. For the full run: OFFSHOOT_PROXY_MIB=1024. */
const MIB = Number(process.env['OFFSHOOT_PROXY_MIB'] ?? 64)
const MAX_GROWTH_BYTES = 64 * 1024 * 1024

const here = serveEdge()

async function digestOf(stream: AsyncIterable<Buffer>): Promise<string> {
  const hash = createHash('sha256')
  for await (const piece of stream) hash.update(piece)
  return hash.digest('hex')
}

describe('large bodies', () => {
  const chunk = randomBytes(1024 * 1024)
  async function* chunks() {
    for (let sent = 0; sent < MIB; sent++) yield chunk
  }
  const whole = createHash('sha256')
  for (let i = 0; i < MIB; i++) whole.update(chunk)
  const digest = whole.digest('hex')

  it('pass in both directions at once, whole, in little memory', { tags: ['long'], timeout: 600_000 }, async () => {
    here.answer = (request, response) => request.pipe(response)
    const before = process.memoryUsage().rss
    const request = httpRequest({
      host: '127.0.0.1',
      port: here.edge.port,
      method: 'POST',
      headers: { host: here.edge.host(here.port) },
      agent: false,
    })
    Readable.from(chunks()).pipe(request)
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    expect(await digestOf(response)).toBe(digest)
    // Server, edge and visitor share this process.
    expect(process.memoryUsage().rss - before).toBeLessThan(3 * MAX_GROWTH_BYTES)
  })

  it('wait for a visitor that does not read, and for a server that does not', async () => {
    let written = 0
    here.answer = (_request, response) => {
      const write = () => {
        while (response.write(chunk)) written += chunk.length
        written += chunk.length
      }
      response.on('drain', write)
      write()
    }
    const slow = await here.edge.open(here.port)
    let before = -1
    await until('the server to stand still', async () => {
      const stands = written === before
      before = written
      for (let i = 0; i < 20; i++) await here.edge.ask(await other())
      return stands
    })
    expect(written).toBeLessThan(MAX_GROWTH_BYTES)
    slow.destroy()
  })

  let quick: number | undefined
  async function other(): Promise<number> {
    quick ??= await here.saying('HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n')
    return quick
  }
})
