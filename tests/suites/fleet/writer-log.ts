import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'

interface Writer {
  readonly name: string
  lines: number
}

/**
 * A log outside of all hosts, to which each writer of a volume sends a datagram beside each write: `VOLUME WRITER
 * NUMBER`. If two write the same volume, their lines alternate.
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
    socket.on('message', (message) => log.#note(message.toString().trim()))
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
