import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { FrameWriter, UnsentTotal } from './frame-writer.ts'

const MIB = 1024 * 1024
const TOTAL_MIB = 16
const frame = (mib: number) => Buffer.alloc(mib * MIB)

let folder: string
let server: Server
let guests: Socket[]
let links: Socket[]
let total: UnsentTotal
let refused: string[]

/** A server whose connections nobody reads: guests that take nothing. */
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'frame-writer-'))
  guests = []
  links = []
  refused = []
  total = new UnsentTotal(TOTAL_MIB * MIB)
  server = createServer({ pauseOnConnect: true }, (socket) => guests.push(socket)).listen(join(folder, 'guest.sock'))
  await once(server, 'listening')
})
afterEach(async () => {
  for (const socket of [...guests, ...links]) socket.destroy()
  server.close()
  await once(server, 'close')
  await rm(folder, { recursive: true })
})

async function open(name: string): Promise<FrameWriter> {
  const accepted = once(server, 'connection')
  const socket = connect(join(folder, 'guest.sock'))
  links.push(socket)
  await Promise.all([once(socket, 'connect'), accepted])
  return new FrameWriter(socket, () => refused.push(name), total)
}

describe('the queues of all links', () => {
  it('together hold no more than the total: the longest one is ended', async () => {
    const hog = await open('hog')
    expect(hog.write(frame(8))).toBe(true)
    const small: FrameWriter[] = []
    while (small.length < 12) small.push(await open('small'))
    for (const each of small) expect(each.write(frame(1))).toBe(true)
    expect(refused).toEqual(['hog'])
    expect(hog.write(frame(1))).toBe(false)
    for (const each of small.slice(0, 4)) expect(each.write(frame(1))).toBe(true)
    expect(refused).toEqual(['hog'])
  })

  it('count what is kept for a guest that stands still', async () => {
    const [held, other] = [await open('held'), await open('other')]
    held.keep()
    for (let at = 0; at < TOTAL_MIB - 1; at++) expect(held.write(frame(1))).toBe(true)
    expect(other.write(frame(4))).toBe(true)
    expect(refused).toEqual(['held'])
  })

  it('refuse the writer itself where it holds the most', async () => {
    const hog = await open('hog')
    expect(hog.write(frame(TOTAL_MIB - 1))).toBe(true)
    expect(hog.write(frame(2))).toBe(false)
    expect(refused).toEqual(['hog'])
  })

  it('do not count what a guest has taken since', async () => {
    const [first, second] = [await open('first'), await open('second')]
    expect(first.write(frame(TOTAL_MIB - 4))).toBe(true)
    for (const guest of guests) guest.resume()
    await expect.poll(() => first.unsentBytes, { timeout: 30_000 }).toBe(0)
    for (const guest of guests) guest.pause()
    expect(second.write(frame(TOTAL_MIB - 4))).toBe(true)
    expect(refused).toEqual([])
  })

  it('do not count those of links that have ended', async () => {
    const first = await open('first')
    expect(first.write(frame(TOTAL_MIB - 1))).toBe(true)
    first.end()
    const second = await open('second')
    expect(second.write(frame(TOTAL_MIB - 1))).toBe(true)
    expect(refused).toEqual([])
  })
})
