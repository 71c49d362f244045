import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readBeginning, readWhole } from './bounded-body.ts'

const parts = () => Readable.from([Buffer.from('ab'), Buffer.from('cd')])

describe('a body that is read into memory', () => {
  let server: Server
  let url: string
  const hungUp: Promise<unknown>[] = []

  beforeAll(async () => {
    // Never ends, as that of a peer that means harm.
    server = createServer((_, response) => {
      hungUp.push(once(response, 'close'))
      Readable.from(
        (function* () {
          for (;;) yield Buffer.alloc(1024, 'x')
        })(),
      ).pipe(response)
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  })

  afterAll(() => void server.close())

  const endless = async () => Readable.fromWeb((await fetch(url)).body as never)

  it('is given whole up to the limit, and refused beyond it', async () => {
    expect((await readWhole(parts(), 4)).toString()).toBe('abcd')
    await expect(readWhole(parts(), 3)).rejects.toThrow('answer is over 3 bytes')
    expect((await readWhole(Readable.from([]), 0)).length).toBe(0)
  })

  it('is cut where its beginning is enough', async () => {
    expect((await readBeginning(parts(), 3)).toString()).toBe('abc')
    expect((await readBeginning(parts(), 9)).toString()).toBe('abcd')
  })

  it('is hung up on when it does not end', async () => {
    await expect(readWhole(await endless(), 10_000)).rejects.toThrow('answer is over 10000 bytes')
    expect((await readBeginning(await endless(), 10_000)).length).toBe(10_000)
    await Promise.all(hungUp)
    expect(hungUp).toHaveLength(2)
  })

  it('fails as its connection does', async () => {
    const broken = new Readable({ read: () => broken.destroy(new Error('gone')) })
    await expect(readWhole(broken, 10)).rejects.toThrow('gone')
  })
})
