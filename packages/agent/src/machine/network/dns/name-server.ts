/**
 * A DNS forwarder: answers the queries of guests by querying the host's upstream name servers. It forwards well-formed
 * queries and responses only, so that a guest cannot use it to reach other services of the host. It does not filter names:
 * the packet filter decides by address where a guest may connect.
 *
 * Concurrent questions and connections are limited, in total and per guest, and each has a deadline. Questions above a limit
 * are dropped, as a network drops packets.
 */
import { createSocket, type RemoteInfo, type Socket as UdpSocket } from 'node:dgram'
import { once } from 'node:events'
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { Deadline } from '@offshoot/kit/deadline'
import { queryByTcp, queryByUdp, type Resolver } from './query.ts'
import { failureOf, frame, isQuestion, LengthPrefixed, truncatedAnswerTo } from './dns-message.ts'

/** Milliseconds for one upstream before the next is queried, and for all of them. */
const ASK_MS = 2000
const ANSWER_MS = 5000
/** Concurrent questions. */
const MAX_QUESTIONS = 1024
const MAX_QUESTIONS_OF_GUEST = 64
const MAX_CONNECTIONS = 256
const MAX_CONNECTIONS_OF_GUEST = 8
/** Attempts to find a port that is free for both TCP and UDP. */
const MAX_TRIES = 10
/** Milliseconds after which an idle connection is closed. */
const IDLE_MS = 10_000
/** Maximum bytes of a UDP response that need no fragmentation (DNS flag day 2020). For longer ones guests retry over TCP. */
const MAX_UDP_BYTES = 1232

export interface NameServerOptions {
  /** The upstream name servers, in the order in which to query them. */
  readonly resolvers: () => Promise<readonly Resolver[]>
  /** Whether an address belongs to a guest. All other clients get no answer. */
  readonly isGuest: (ip: string) => boolean
}

/** Limits concurrent work, in total and per guest. */
class ConcurrencyLimit {
  readonly #all: number
  readonly #ofGuest: number
  readonly #counts = new Map<string, number>()
  #count = 0

  constructor(all: number, ofGuest: number) {
    this.#all = all
    this.#ofGuest = ofGuest
  }

  /** `false` if a limit is reached. */
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
    // Send errors: the guest ended before its answer came.
    udp.on('error', () => undefined)
    tcp.on('connection', (socket) => this.#serve(socket))
  }

  /** Listens on a free port, the same for UDP and TCP. The packet filter redirects guests to it. */
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
        // The port was free for TCP but not for UDP.
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
    // Do not wait for a guest that sends questions but does not read answers.
    if (socket.writableNeedDrain) socket.destroy()
  }

  /** `null` for a malformed question and above the limit. */
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
