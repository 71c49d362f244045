import { createSocket, type RemoteInfo } from 'node:dgram'
import { once } from 'node:events'
import { type AddressInfo, createConnection, createServer, type Server, type Socket } from 'node:net'
import { Deadline } from '@offshoot/kit/deadline'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { queryByTcp, queryByUdp, type Resolver } from './query.ts'
import { frame, idOf, isAnswerTo, isQuestion, LengthPrefixed, withId } from './dns-message.ts'
import { NameServer } from './name-server.ts'

const deadline = () => Deadline.after(20_000, 'test')

/** A query for the A record of a name. */
function question(name: string, id = 7): Buffer {
  const labels = name.split('.').flatMap((label) => [Buffer.from([label.length]), Buffer.from(label)])
  const head = Buffer.alloc(12)
  head.writeUInt16BE(id, 0)
  head.writeUInt8(1, 2)
  head.writeUInt16BE(1, 4)
  return Buffer.concat([head, ...labels, Buffer.from([0, 0, 1, 0, 1])])
}

/** A response with one address and `padding` unused bytes. */
function answerTo(asked: Buffer, padding = 0): Buffer {
  const answer = Buffer.concat([asked, Buffer.from('c00c00010001000000000004', 'hex'), Buffer.from([10, 0, 0, 1])])
  answer.writeUInt8(0x81, 2)
  answer.writeUInt8(0x80, 3)
  answer.writeUInt16BE(1, 6)
  return Buffer.concat([answer, Buffer.alloc(padding)])
}

/** An upstream name server on this host. */
class Upstream {
  readonly asked: Buffer[] = []
  readonly sources: number[] = []
  reply: (asked: Buffer) => readonly Buffer[] = (asked) => [answerTo(asked)]
  readonly #udp = createSocket('udp4')
  readonly #tcp: Server

  constructor() {
    this.#udp.on('message', (message: Buffer, from: RemoteInfo) => {
      this.asked.push(message)
      this.sources.push(from.port)
      for (const bytes of this.reply(message)) this.#udp.send(bytes, from.port, from.address)
    })
    this.#tcp = createServer((socket: Socket) => {
      const messages = new LengthPrefixed((message) => {
        this.asked.push(message)
        for (const bytes of this.reply(message)) socket.write(frame(bytes))
      })
      socket.on('data', (bytes: Buffer) => messages.push(bytes)).on('error', () => socket.destroy())
    })
  }

  /** Answers the last question now. */
  answerLast(): void {
    const [asked, port] = [this.asked.at(-1), this.sources.at(-1)]
    if (asked !== undefined && port !== undefined) this.#udp.send(answerTo(asked), port, '127.0.0.1')
  }

  async start(): Promise<Resolver> {
    this.#tcp.listen(0, '127.0.0.1')
    await once(this.#tcp, 'listening')
    const { port } = this.#tcp.address() as AddressInfo
    this.#udp.bind(port, '127.0.0.1')
    await once(this.#udp, 'listening')
    return { address: '127.0.0.1', port }
  }

  stop(): void {
    this.#udp.close()
    this.#tcp.close()
  }
}

let upstream: Upstream
let resolvers: Resolver[]
let server: NameServer
let guests: (ip: string) => boolean

const start = () => NameServer.start({ resolvers: async () => resolvers, isGuest: (ip) => guests(ip) })

beforeEach(async () => {
  upstream = new Upstream()
  resolvers = [await upstream.start()]
  guests = (ip) => ip === '127.0.0.1'
  server = await start()
})

afterEach(async () => {
  await server.close()
  upstream.stop()
})

const self = (): Resolver => ({ address: '127.0.0.1', port: server.port })

describe('a name server', () => {
  it.each([
    ['UDP', queryByUdp],
    ['TCP', queryByTcp],
  ])('forwards the upstream answer over %s, with the id of the question', async (_name, ask) => {
    const answer = await ask(self(), question('example.org', 41), deadline())
    expect(idOf(answer)).toBe(41)
    expect(answer.subarray(-4)).toEqual(Buffer.from([10, 0, 0, 1]))
    expect(upstream.asked).toHaveLength(1)
  })

  it('uses a new id and a new port for each upstream query', async () => {
    for (let count = 0; count < 8; count++) await queryByUdp(self(), question('example.org', 7), deadline())
    expect(new Set(upstream.asked.map(idOf)).size).toBeGreaterThan(1)
    expect(new Set(upstream.sources).size).toBeGreaterThan(1)
  })

  it('accepts only the response to its own question', async () => {
    upstream.reply = (asked) => [
      answerTo(question('evil.example', idOf(asked))),
      answerTo(withId(asked, idOf(asked) ^ 1)),
      asked,
      Buffer.from('nonsense'),
      answerTo(asked),
    ]
    const answer = await queryByUdp(self(), question('example.org'), deadline())
    expect(isAnswerTo(answer, question('EXAMPLE.org'))).toBe(true)
  })

  it('queries the next upstream when one does not answer, and returns SERVFAIL when none does', async () => {
    const nobody = new Upstream()
    const dead = await nobody.start()
    nobody.stop()
    resolvers = [dead, ...resolvers]
    expect((await queryByUdp(self(), question('example.org'), deadline())).subarray(-4)).toEqual(
      Buffer.from([10, 0, 0, 1]),
    )
    resolvers = [dead]
    const failure = await queryByTcp(self(), question('example.org'), deadline())
    expect(failure.readUInt8(3) & 0x0f).toBe(2)
    resolvers = []
    expect((await queryByUdp(self(), question('example.org'), deadline())).readUInt8(3) & 0x0f).toBe(2)
  })

  it('truncates long answers, so that guests retry over TCP', async () => {
    upstream.reply = (asked) => [answerTo(asked, 4000)]
    const short = await queryByUdp(self(), question('example.org'), deadline())
    expect(short.readUInt8(2) & 0x02).toBe(2)
    expect(short.length).toBeLessThan(100)
    expect((await queryByTcp(self(), question('example.org'), deadline())).length).toBeGreaterThan(4000)
  })

  it('forwards only queries', async () => {
    const response = answerTo(question('example.org'))
    const update = question('example.org')
    update.writeUInt8(0x28, 2)
    const two = question('example.org')
    two.writeUInt16BE(2, 4)
    const bad = [Buffer.alloc(0), Buffer.alloc(11), response, update, two, question('example.org').subarray(0, 20)]
    for (const message of [...bad, Buffer.from('GET / HTTP/1.1\r\nHost: x\r\n\r\n')])
      expect(isQuestion(message)).toBe(false)
    const socket = createConnection(server.port, '127.0.0.1')
    socket.write(frame(response))
    await once(socket, 'close')
    await queryByUdp(self(), question('example.org'), deadline())
    expect(upstream.asked).toHaveLength(1)
  })

  it('answers only guests', async () => {
    let looks = 0
    guests = () => ++looks === 0
    const socket = createConnection(server.port, '127.0.0.1')
    socket.on('error', () => undefined)
    socket.write(frame(question('example.org')))
    await once(socket, 'close')
    const asking = createSocket('udp4')
    asking.send(question('secret.example'), server.port, '127.0.0.1')
    await expect.poll(() => looks, { timeout: 20_000 }).toBe(2)
    guests = () => true
    await queryByTcp(self(), question('example.org'), deadline())
    asking.close()
    expect(upstream.asked).toHaveLength(1)
  })

  it('sends nothing after it is closed, even if an upstream answers late', async () => {
    upstream.reply = () => []
    const asking = createSocket('udp4')
    asking.send(question('late.example'), server.port, '127.0.0.1')
    await expect.poll(() => upstream.asked.length, { timeout: 20_000 }).toBe(1)
    await server.close()
    upstream.answerLast()
    // An unhandled rejection would fail the run.
    server = await start()
    upstream.reply = (asked) => [answerTo(asked)]
    expect(idOf(await queryByUdp(self(), question('next.example', 9), deadline()))).toBe(9)
    asking.close()
  })

  it('limits the concurrent questions and connections of one guest', async () => {
    upstream.reply = () => []
    const asking = createSocket('udp4')
    for (let count = 0; count < 300; count++) asking.send(question(`n${count}.example`), server.port, '127.0.0.1')
    const sockets = Array.from({ length: 12 }, () =>
      createConnection(server.port, '127.0.0.1').on('error', () => undefined),
    )
    const closed: Socket[] = []
    for (const socket of sockets) socket.once('close', () => closed.push(socket))
    await expect.poll(() => closed.length, { timeout: 20_000 }).toBe(4)
    await expect.poll(() => upstream.asked.length, { timeout: 20_000 }).toBe(64)
    asking.close()
    for (const socket of sockets) socket.destroy()
  })
})
