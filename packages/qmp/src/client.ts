import { connect as connectSocket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { Deadline } from '@offshoot/kit/deadline'
import { traceStep } from '@offshoot/kit/otlp/telemetry'
import type { Commands, CommandName } from './commands.ts'
import { LineTransport } from './line-transport.ts'
import { parseMessage, type QmpEvent, type QmpMessage } from './message.ts'
import { QmpConnectionError, QmpError } from './qmp-error.ts'

/** Limit for every answer. Long operations are QEMU jobs, whose commands answer at once. */
const ANSWER_MS = 60_000

interface PendingCommand {
  readonly resolve: (value: unknown) => void
  readonly reject: (error: Error) => void
}

/**
 * One connection to the monitor of one QEMU.
 *
 * A caller may send commands before QEMU has started: they wait in the socket, and QEMU answers them in order. So a
 * start needs no round trips, and the constructor sends `qmp_capabilities` without waiting for QEMU's greeting.
 */
export class QmpClient {
  readonly #transport: LineTransport
  readonly #pending = new Map<number, PendingCommand>()
  readonly #listeners = new Set<(event: QmpEvent) => void>()
  readonly #ready: Promise<unknown>
  #qemuVersion = ''
  #lastId = 0
  #closeReason: QmpConnectionError | undefined

  /** Resolves with the reason when the connection has ended, also because QEMU ended. Never rejects. */
  readonly closed: Promise<QmpConnectionError>

  /**
   * Uses a connected stream, such as the agent's end of a socket that QEMU inherited.
   * @param isGreeted the monitor is past its greeting and `qmp_capabilities`
   */
  constructor(stream: Duplex, { isGreeted = false }: { readonly isGreeted?: boolean | undefined } = {}) {
    this.#transport = new LineTransport(stream, (line) => this.#receive(parseMessage(line)))
    this.closed = this.#transport.ended.then((reason) => this.#end(reason))
    this.#ready = isGreeted ? Promise.resolve() : this.#send('qmp_capabilities', {})
    this.#ready.catch(() => undefined)
  }

  /** Connects to a monitor that listens on a Unix socket, and negotiates capabilities. */
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

  /** Waits until QEMU has answered `qmp_capabilities`. */
  async ready(deadline: Deadline): Promise<void> {
    await deadline.race(this.#ready)
  }

  /**
   * @throws QmpError QEMU refused the command
   * @throws QmpConnectionError the connection ended first
   * @throws DeadlineExceeded a later answer is dropped
   */
  async execute<Name extends CommandName>(
    command: Name,
    args: Commands[Name]['arguments'],
    deadline: Deadline,
  ): Promise<Commands[Name]['return']> {
    deadline.throwIfOver()
    const answer = deadline.within(ANSWER_MS, `QEMU answering ${command}`)
    const send = () => answer.race(this.#send(command, args))
    return (await traceStep(`QMP ${command}`, send)) as Commands[Name]['return']
  }

  /** Calls `listener` for every later event. Returns a function that removes the listener. */
  onEvent(listener: (event: QmpEvent) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  close(): void {
    this.#transport.end(new QmpConnectionError('QMP connection closed by the agent'))
  }

  #send(command: string, args: object): Promise<unknown> {
    if (this.#closeReason) return Promise.reject(this.#closeReason)
    const id = ++this.#lastId
    const { promise, resolve, reject } = Promise.withResolvers<unknown>()
    this.#pending.set(id, { resolve, reject })
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
        // An error without an id: QEMU could not parse the input, so the stream itself is broken.
        if (message.id === null) throw new QmpConnectionError(`QEMU could not parse a command: ${message.description}`)
        this.#take(message.id)?.reject(new QmpError(message.class, message.description))
    }
  }

  #take(id: number): PendingCommand | undefined {
    const pending = this.#pending.get(id)
    this.#pending.delete(id)
    return pending
  }

  #end(reason: QmpConnectionError): QmpConnectionError {
    this.#closeReason = reason
    for (const { reject } of this.#pending.values()) reject(reason)
    this.#pending.clear()
    return reason
  }
}
