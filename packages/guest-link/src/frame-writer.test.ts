import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { FrameWriter, UnsentLimit } from './frame-writer.ts'

const MIB = 1024 * 1024
const LIMIT_MIB = 16
const frame = (mib: number) => Buffer.alloc(mib * MIB)

let folder: string
let server: Server
let guests: Socket[]
let links: Socket[]
let limit: UnsentLimit
let ended: string[]

/** A server that reads none of its connections, like guests that do not read. */
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'frame-writer-'))
  guests = []
  links = []
  ended = []
  limit = new UnsentLimit(LIMIT_MIB * MIB)
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
  return new FrameWriter(socket, () => ended.push(name), limit)
}

describe('the limit of all links together', () => {
  it('ends the link with the most unsent bytes', async () => {
    const hog = await open('hog')
    expect(hog.write(frame(8))).toBe(true)
    const small: FrameWriter[] = []
    while (small.length < 12) small.push(await open('small'))
    for (const each of small) expect(each.write(frame(1))).toBe(true)
    expect(ended).toEqual(['hog'])
    expect(hog.write(frame(1))).toBe(false)
    for (const each of small.slice(0, 4)) expect(each.write(frame(1))).toBe(true)
    expect(ended).toEqual(['hog'])
  })

  it('counts frames that are queued for a held guest', async () => {
    const [held, other] = [await open('held'), await open('other')]
    held.queueFrames()
    for (let at = 0; at < LIMIT_MIB - 1; at++) expect(held.write(frame(1))).toBe(true)
    expect(other.write(frame(4))).toBe(true)
    expect(ended).toEqual(['held'])
  })

  it('ends the writing link when it has the most', async () => {
    const hog = await open('hog')
    expect(hog.write(frame(LIMIT_MIB - 1))).toBe(true)
    expect(hog.write(frame(2))).toBe(false)
    expect(ended).toEqual(['hog'])
  })

  it('does not count what a guest has read since', async () => {
    const [first, second] = [await open('first'), await open('second')]
    expect(first.write(frame(LIMIT_MIB - 4))).toBe(true)
    for (const guest of guests) guest.resume()
    await expect.poll(() => first.unsentBytes, { timeout: 30_000 }).toBe(0)
    for (const guest of guests) guest.pause()
    expect(second.write(frame(LIMIT_MIB - 4))).toBe(true)
    expect(ended).toEqual([])
  })

  it('does not count links that have ended', async () => {
    const first = await open('first')
    expect(first.write(frame(LIMIT_MIB - 1))).toBe(true)
    first.end()
    const second = await open('second')
    expect(second.write(frame(LIMIT_MIB - 1))).toBe(true)
    expect(ended).toEqual([])
  })
})
