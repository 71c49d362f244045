import { createSocket, type RemoteInfo, type Socket } from 'node:dgram'
import { once } from 'node:events'

const HEAD_BYTES = 12
/** Type and class of a question. */
const QUESTION_TAIL_BYTES = 4
const TYPE_A = 1
const TYPE_TXT = 16

/** A DNS server with TXT and A records (RFC 1035, 4). */
export class DnsServer {
  /** By name, in lower case. */
  readonly texts = new Map<string, readonly string[]>()
  /** IPv4 addresses by name, in lower case. Each question gets the next answer, and the last one again and again. */
  readonly addresses = new Map<string, string[]>()
  asked = 0
  readonly #socket: Socket = createSocket('udp4')

  static async start(): Promise<DnsServer> {
    const server = new DnsServer()
    server.#socket.on('message', (question, from) => server.#answer(question, from))
    server.#socket.bind(0, '127.0.0.1')
    await once(server.#socket, 'listening')
    return server
  }

  get address(): string {
    return `127.0.0.1:${this.#socket.address().port}`
  }

  stop(): void {
    this.#socket.close()
  }

  #answer(question: Buffer, { address, port }: RemoteInfo): void {
    this.asked += 1
    const labels: string[] = []
    let at = HEAD_BYTES
    for (let length = question[at] ?? 0; length > 0; length = question[at] ?? 0) {
      labels.push(question.toString('latin1', at + 1, at + 1 + length))
      at += 1 + length
    }
    const name = labels.join('.').toLowerCase()
    const found = question.readUInt16BE(at + 1) === TYPE_A ? this.#nextAddress(name) : this.#textsOf(name)
    const head = Buffer.from(question.subarray(0, HEAD_BYTES))
    // A response with recursion: no error, or name error.
    head.writeUInt16BE(found.length > 0 ? 0x81_80 : 0x81_83, 2)
    head.writeUInt16BE(found.length, 6)
    head.fill(0, 8, HEAD_BYTES)
    const asked = question.subarray(HEAD_BYTES, at + 1 + QUESTION_TAIL_BYTES)
    this.#socket.send(Buffer.concat([head, asked, ...found]), port, address)
  }

  #textsOf(name: string): Buffer[] {
    return (this.texts.get(name) ?? []).map((text) => record(TYPE_TXT, textData(text)))
  }

  #nextAddress(name: string): Buffer[] {
    const answers = this.addresses.get(name) ?? []
    const [address] = answers
    if (answers.length > 1) answers.shift()
    return address === undefined ? [] : [record(TYPE_A, Buffer.from(address.split('.').map(Number)))]
  }
}

/** A record for the name in the question, with a TTL of one minute. */
function record(type: number, data: Buffer): Buffer {
  const head = Buffer.from('c00c000000010000003c0000', 'hex')
  head.writeUInt16BE(type, 2)
  head.writeUInt16BE(data.length, 10)
  return Buffer.concat([head, data])
}

/** The text is split, because long texts arrive in several pieces. */
function textData(text: string): Buffer {
  const middle = Math.ceil(text.length / 2)
  const pieces = [text.slice(0, middle), text.slice(middle)].map((piece) => Buffer.from(piece, 'latin1'))
  return Buffer.concat(pieces.flatMap((piece) => [Buffer.of(piece.length), piece]))
}
