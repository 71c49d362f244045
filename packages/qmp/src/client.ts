import { connect as connectSocket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { Deadline } from '@offshoot/kit/deadline'
import type { Commands, CommandName } from './commands.ts'
import { LineTransport } from './line-transport.ts'
import { parseMessage, type QmpEvent, type QmpMessage } from './message.ts'
import { QmpConnectionError, QmpError } from './qmp-error.ts'

/** Milliseconds for any answer: what takes long is a job in QEMU, which answers at once. */
const ANSWER_MS = 60_000

interface Waiting {
  readonly resolve: (value: unknown) => void
  readonly reject: (error: Error) => void
}

/**
 * One connection to one QEMU's monitor.
 *
 * Commands may be sent before QEMU has come up: they wait in the socket and are answered in order. That is what makes
 * a start free of round trips, and why the constructor sends `qmp_capabilities` without waiting for the greeting.
 */
export class QmpClient {
  readonly #transport: LineTransport
  readonly #waiting = new Map<number, Waiting>()
  readonly #listeners = new Set<(event: QmpEvent) => void>()
  readonly #ready: Promise<unknown>
  #qemuVersion = ''
  #lastId = 0
  #endedWith: QmpConnectionError | undefined

  /** Resolves with the reason when the connection is over, QEMU's own end included. Never rejects. */
  readonly closed: Promise<QmpConnectionError>

  /** Takes over a connected stream, such as the other end of one that QEMU inherited. */
  constructor(stream: Duplex) {
    this.#transport = new LineTransport(stream, (line) => this.#receive(parseMessage(line)))
    this.closed = this.#transport.ended.then((reason) => this.#end(reason))
    this.#ready = this.#send('qmp_capabilities', {})
    this.#ready.catch(() => undefined)
  }

  /** Connects to a monitor that listens on a Unix socket, and agrees on capabilities. */
  static async connect(path: string, deadline: Deadline): Promise<QmpClient> {
    const socket = connectSocket(path)
    try {
      const connected = Promise.withResolvers<void>()
      socket.once('connect', connected.resolve).once('error', connected.reject)
      await deadline.race(connected.promise)
      const client = new QmpClient(socket)
      await client.ready(deadline)
      return client
    } catch (error) {
      socket.destroy()
      throw error
    }
  }

  /** `7.2.22`; empty before {@link ready}. */
  get qemuVersion(): string {
    return this.#qemuVersion
  }

  /** Waits until QEMU has greeted and taken our capabilities. */
  async ready(deadline: Deadline): Promise<void> {
    await deadline.race(this.#ready)
  }

  /**
   * @throws QmpError QEMU refused
   * @throws QmpConnectionError the connection ended first
   * @throws DeadlineExceeded the answer, should it still come, is dropped
   */
  async execute<Name extends CommandName>(
    command: Name,
    args: Commands[Name]['arguments'],
    deadline: Deadline,
  ): Promise<Commands[Name]['return']> {
    deadline.throwIfOver()
    return (await deadline
      .within(ANSWER_MS, `QEMU answering ${command}`)
      .race(this.#send(command, args))) as Commands[Name]['return']
  }

  /** Calls `listener` for every event from now on; the result stops that. */
  onEvent(listener: (event: QmpEvent) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  close(): void {
    this.#transport.end(new QmpConnectionError('QMP connection closed by us'))
  }

  #send(command: string, args: object): Promise<unknown> {
    if (this.#endedWith) return Promise.reject(this.#endedWith)
    const id = ++this.#lastId
    const { promise, resolve, reject } = Promise.withResolvers<unknown>()
    this.#waiting.set(id, { resolve, reject })
    this.#transport.write(JSON.stringify({ execute: command, arguments: args, id }))
    return promise
  }

  #receive(message: QmpMessage): void {
    switch (message.kind) {
      case 'greeting':
        this.#qemuVersion = message.qemuVersion
        return
      case 'event':
        for (const listener of this.#listeners) listener(message.event)
        return
      case 'return':
        this.#take(message.id)?.resolve(message.value)
        return
      case 'error':
        // An error without an id means that QEMU could not parse what we sent: the stream itself is broken.
        if (message.id === null) throw new QmpConnectionError(`QEMU did not understand us: ${message.description}`)
        this.#take(message.id)?.reject(new QmpError(message.class, message.description))
    }
  }

  #take(id: number): Waiting | undefined {
    const waiting = this.#waiting.get(id)
    this.#waiting.delete(id)
    return waiting
  }

  #end(reason: QmpConnectionError): QmpConnectionError {
    this.#endedWith = reason
    for (const { reject } of this.#waiting.values()) reject(reason)
    this.#waiting.clear()
    return reason
  }
}
