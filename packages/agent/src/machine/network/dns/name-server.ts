/**
 * Answers guests' questions for names by asking the host's name servers. It passes on questions and answers and nothing else,
 * so that a guest cannot talk to anything of the host's through it; what a name stands for is no matter, because where a
 * guest may connect is decided by address.
 *
 * Bounded: questions under way at all and for one guest, connections, time. What is over a bound is dropped, as networks do.
 */
import { createSocket, type RemoteInfo, type Socket as UdpSocket } from 'node:dgram'
import { once } from 'node:events'
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { Deadline } from '@offshoot/kit/deadline'
import { queryByTcp, queryByUdp, type Resolver } from './query.ts'
import { failureOf, frame, isQuestion, LengthPrefixed, truncatedAnswerTo } from './dns-message.ts'

/** Milliseconds for one name server, after which the next is asked, and for all. */
const ASK_MS = 2000
const ANSWER_MS = 5000
/** Questions under way. */
const MAX_QUESTIONS = 1024
const MAX_QUESTIONS_OF_GUEST = 64
const MAX_CONNECTIONS = 256
const MAX_CONNECTIONS_OF_GUEST = 8
/** Looks for a port that is free for both. */
const MAX_TRIES = 10
/** Milliseconds that a connection may be silent. */
const IDLE_MS = 10_000
/** Bytes of an answer by UDP that no network on its way has to cut: guests that want more ask by TCP. */
const MAX_UDP_BYTES = 1232

export interface NameServerOptions {
  /** Whom to ask, in this order. */
  readonly resolvers: () => Promise<readonly Resolver[]>
  /** Whether an address is one of our guests'; nobody else is answered. */
  readonly isGuest: (ip: string) => boolean
}

/** Things under way, at all and for each guest. */
class ConcurrencyLimit {
  readonly #all: number
  readonly #ofGuest: number
  readonly #counts = new Map<string, number>()
  #count = 0

  constructor(all: number, ofGuest: number) {
    this.#all = all
    this.#ofGuest = ofGuest
  }

  /** `false`: it would be one too many. */
  enter(guest: string): boolean {
    const own = this.#counts.get(guest) ?? 0
    if (this.#count >= this.#all || own >= this.#ofGuest) return false
    this.#count += 1
    this.#counts.set(guest, own + 1)
    return true
  }

  leave(guest: string): void {
    const own = (this.#counts.get(guest) ?? 1) - 1
    this.#count -= 1
    if (own === 0) this.#counts.delete(guest)
    else this.#counts.set(guest, own)
  }
}

export class NameServer {
  readonly port: number
  readonly #options: NameServerOptions
  readonly #udp: UdpSocket
  readonly #tcp: Server
  readonly #questions = new ConcurrencyLimit(MAX_QUESTIONS, MAX_QUESTIONS_OF_GUEST)
  readonly #connections = new ConcurrencyLimit(MAX_CONNECTIONS, MAX_CONNECTIONS_OF_GUEST)
  readonly #open = new Set<Socket>()
  #isClosed = false

  private constructor(options: NameServerOptions, udp: UdpSocket, tcp: Server) {
    this.#options = options
    this.#udp = udp
    this.#tcp = tcp
    this.port = udp.address().port
    udp.on('message', (message, from) => void this.#answerByUdp(message, from))
    // Of a guest that has gone before its answer came.
    udp.on('error', () => undefined)
    tcp.on('connection', (socket) => this.#serve(socket))
  }

  /** On a port of its own, the same for both: the packet filter leads guests there. */
  static async start(options: NameServerOptions): Promise<NameServer> {
    for (let tries = 1; ; tries++) {
      const tcp = createServer()
      tcp.listen(0, '0.0.0.0')
      await once(tcp, 'listening')
      const udp = createSocket('udp4')
      try {
        udp.bind((tcp.address() as AddressInfo).port, '0.0.0.0')
        await once(udp, 'listening')
        return new NameServer(options, udp, tcp)
      } catch (error) {
        udp.close()
        tcp.close()
        // The port that was free for one was not for the other.
        if (tries === MAX_TRIES) throw error
      }
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true
    for (const socket of this.#open) socket.destroy()
    this.#udp.close()
    this.#tcp.close()
    await once(this.#tcp, 'close')
  }

  async #answerByUdp(question: Buffer, { address, port }: RemoteInfo): Promise<void> {
    if (!this.#options.isGuest(address)) return
    const answer = await this.#answer(question, address, queryByUdp)
    if (answer === null || this.#isClosed) return
    const sent = answer.length > MAX_UDP_BYTES ? truncatedAnswerTo(question) : answer
    this.#udp.send(sent, port, address, () => undefined)
  }

  #serve(socket: Socket): void {
    const guest = socket.remoteAddress ?? ''
    socket.on('error', () => socket.destroy())
    if (!this.#options.isGuest(guest) || !this.#connections.enter(guest)) return void socket.destroy()
    this.#open.add(socket)
    socket.once('close', () => {
      this.#open.delete(socket)
      this.#connections.leave(guest)
    })
    socket.setTimeout(IDLE_MS, () => socket.destroy())
    const messages = new LengthPrefixed((question) => void this.#answerByTcp(socket, guest, question))
    socket.on('data', (bytes: Buffer) => messages.push(bytes))
  }

  async #answerByTcp(socket: Socket, guest: string, question: Buffer): Promise<void> {
    const answer = await this.#answer(question, guest, queryByTcp)
    if (answer === null) socket.destroy()
    else socket.write(frame(answer))
    // A guest that asks and does not read is not waited for.
    if (socket.writableNeedDrain) socket.destroy()
  }

  /** `null`: it is no question, or one too many. */
  async #answer(question: Buffer, guest: string, ask: typeof queryByUdp): Promise<Buffer | null> {
    if (!isQuestion(question) || !this.#questions.enter(guest)) return null
    const deadline = Deadline.after(ANSWER_MS, 'answer of a name server')
    try {
      for (const resolver of await this.#options.resolvers()) {
        const answer = await ask(resolver, question, deadline.within(ASK_MS, resolver.address)).catch(() => null)
        if (answer !== null) return answer
      }
      return failureOf(question)
    } catch {
      return failureOf(question)
    } finally {
      this.#questions.leave(guest)
    }
  }
}
