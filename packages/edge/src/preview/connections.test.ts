/** Lifetime of connections on both sides of the edge. */
import type { Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { describe, expect, it } from 'vitest'
import { patience, until } from '../test/edge-under-test.ts'
import { serveEdge } from '../test/serve-edge.ts'

const here = serveEdge()

describe('connections', () => {
  it('to the server are kept and used again', async () => {
    let made = 0
    const kept = await here.bareServer((socket) => {
      made += 1
      socket.on('data', () => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'))
    })
    for (let i = 0; i < 5; i++) expect((await here.edge.ask(kept)).body).toBe('ok')
    expect(made).toBe(1)
  })

  it('that the server has closed meanwhile are not noticed', async () => {
    let served = 0
    const fickle = await here.bareServer((socket) => {
      socket.on('data', () => {
        served += 1
        // Answers once, and resets the connection if the next request is already there.
        if (socket.bytesWritten === 0) socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok')
        else socket.resetAndDestroy()
      })
    })
    for (let i = 0; i < 4; i++) expect((await here.edge.ask(fickle)).body).toBe('ok')
    expect(served).toBeGreaterThan(4)
  })

  it('that break under a POST are not tried again', async () => {
    let asked = 0
    const breaking = await here.bareServer((socket) => {
      socket.on('data', () => {
        asked += 1
        socket.resetAndDestroy()
      })
    })
    expect((await here.edge.ask(breaking, '/', { method: 'POST', body: 'x' })).status).toBe(502)
    expect(asked).toBe(1)
  })

  it('of a visitor that leaves end inside too, at any moment', async () => {
    let live = 0
    const hanging = await here.bareServer((socket) => {
      live += 1
      socket.on('data', () => undefined).once('close', () => (live -= 1))
    })
    const leave = async (say: (socket: Socket) => void) => {
      const socket = here.edge.connect()
      say(socket)
      await until('the server to be asked', () => live > 0)
      socket.resetAndDestroy()
      await until('the server to be left', () => live === 0)
    }
    const head = `host: ${here.edge.host(hanging)}\r\n`
    await leave((socket) => socket.write(`GET / HTTP/1.1\r\n${head}\r\n`))
    await leave((socket) => socket.write(`POST / HTTP/1.1\r\n${head}content-length: 100\r\n\r\nhalf`))
    await leave((socket) => socket.write(`POST / HTTP/1.1\r\n${head}transfer-encoding: chunked\r\n\r\n5\r\nha`))
  })

  it('whose visitor closed its half and went away end soon', { tags: ['faults'] }, async () => {
    let live = 0
    const hanging = await here.bareServer((socket) => {
      live += 1
      socket.on('data', () => undefined).once('close', () => (live -= 1))
    })
    const socket = here.edge.connect()
    socket.end(`GET / HTTP/1.1\r\nhost: ${here.edge.host(hanging)}\r\n\r\n`)
    await until('the server to be asked', () => live > 0)
    await until('the server to be left', () => live === 0)
  })

  it('may be half closed by a visitor that has said all', async () => {
    here.answer = async (request, response) => response.end(await text(request))
    const socket = here.edge.connect()
    socket.end(
      `POST / HTTP/1.1\r\nhost: ${here.edge.host(here.port)}\r\ncontent-length: 4\r\nconnection: close\r\n\r\nbody`,
    )
    expect(await patience('an answer').race(text(socket))).toMatch(/^HTTP\/1.1 200 OK\r\n[^]*body/)
  })

  it('take several requests one behind the other, each for another sandbox', async () => {
    here.answer = (request, response) => response.end(`<${request.url}>`)
    const one = (path: string, to = here.port, more = '') =>
      `GET ${path} HTTP/1.1\r\nhost: ${here.edge.host(to)}\r\n${more}\r\n`
    const answers = await here.edge.raw(
      one('/1') + one('/2') + one('/3', 1) + one('/4', here.port, 'connection: close\r\n'),
    )
    expect(answers.match(/HTTP\/1.1 \d+|<\/\d>/g)).toEqual([
      'HTTP/1.1 200',
      '</1>',
      'HTTP/1.1 200',
      '</2>',
      'HTTP/1.1 502',
      'HTTP/1.1 200',
      '</4>',
    ])
  })
})
