import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'

interface Writer {
  readonly name: string
  lines: number
}

/** Bytes of the code before the name in a TFTP request (RFC 1350). A zero follows the name. */
const CODE_BYTES = 2
/** Ends the client's request. */
const REFUSAL = Buffer.from([0, 5, 0, 1, 0])

/**
 * A log outside of all hosts, which each writer of a volume tells of each write: it asks by TFTP, the only program of the
 * guest that sends datagrams, for a file `VOLUME WRITER NUMBER`. A datagram comes at once or never. If two write the same
 * volume, their lines alternate.
 */
export class WriterLog {
  readonly #socket: Socket
  readonly #writers = new Map<string, Writer[]>()
  readonly flaws: string[] = []

  readonly address: string
  readonly port: number

  private constructor(socket: Socket, address: string, port: number) {
    this.#socket = socket
    this.address = address
    this.port = port
  }

  static async start(address: string, port: number): Promise<WriterLog> {
    const socket = createSocket('udp4')
    const log = new WriterLog(socket, address, port)
    socket.on('message', (message, { address: from, port: fromPort }) => {
      log.#note(message.toString('latin1', CODE_BYTES, message.indexOf(0, CODE_BYTES)))
      socket.send(REFUSAL, fromPort, from)
    })
    socket.bind(port, address)
    await once(socket, 'listening')
    return log
  }

  /** Lines of a volume so far. */
  lines(volume: string): number {
    return (this.#writers.get(volume) ?? []).reduce((sum, { lines }) => sum + lines, 0)
  }

  async stop(): Promise<void> {
    this.#socket.close()
    await once(this.#socket, 'close')
  }

  #note(line: string): void {
    const [volume = '', name = ''] = line.split(' ')
    const writers = this.#writers.get(volume) ?? []
    this.#writers.set(volume, writers)
    const known = writers.find((writer) => writer.name === name)
    if (known === undefined) return void writers.push({ name, lines: 1 })
    known.lines += 1
    if (known !== writers.at(-1)) this.flaws.push(`${volume} is written by ${name} after ${writers.at(-1)?.name}`)
  }
}
