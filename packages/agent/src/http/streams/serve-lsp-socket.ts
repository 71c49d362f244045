/**
 * One language server on one WebSocket: JSON-RPC between the client's frames and the server's standard streams.
 *
 *     waiting ──first frame──► connected ──► closed     (the server exited, a protocol error, or the client disconnected)
 *        └──────────────────────────────────► closed
 *
 * Invariants:
 *  - The first frame of the client decides the framing. Before it, the agent reads no output of the server.
 *  - While the client is slow, the agent does not read the server's output (backpressure).
 *  - Input that the server has not read counts as pending input of the socket.
 *  - At the end the agent kills the server's process group.
 */
import { LspClose } from '@offshoot/contract/lsp'
import type { GuestProcess } from '@offshoot/guest-link/guest-process'
import type { AcceptedSocket } from './accept-web-socket.ts'
import type { CommandLog } from '../../store/logs/command-log.ts'
import { LineSplitter } from '../../store/logs/line-splitter.ts'
import { exitCodeOf } from '../../sandbox/commands/streamed-command.ts'
import { BaseProtocolError, MessageSplitter } from '../../sandbox/lsp/base-protocol.ts'
import { ClientInput, type LspFraming } from '../../sandbox/lsp/client-input.ts'

const NORMAL = 1000

export class LspSocket {
  readonly #server: GuestProcess
  readonly #socket: AcceptedSocket
  readonly #log: CommandLog
  readonly #input = new ClientInput()
  readonly #read = Promise.withResolvers<void>()

  private constructor(server: GuestProcess, socket: AcceptedSocket, log: CommandLog) {
    this.#server = server
    this.#socket = socket
    this.#log = log
  }

  /** Resolves when the session has ended and the socket is closed or closing. @param log receives the server's stderr */
  static async serve(server: GuestProcess, socket: AcceptedSocket, log: CommandLog): Promise<void> {
    const session = new LspSocket(server, socket, log)
    socket.listen({ onMessage: (data, isBinary) => session.#receive(data, isBinary), onDrain: () => session.#resume() })
    await Promise.race([session.#untilEnded(), socket.closed])
    log.end()
    server.kill('SIGKILL')
    for (const stream of [server.stdin, server.stdout, server.stderr]) stream.destroy()
  }

  async #untilEnded(): Promise<void> {
    try {
      const exit = await this.#server.exited
      // Deliver all output before the exit frame. Without a first frame the framing is unknown, and no output is sent.
      if (this.#input.framing !== undefined) await this.#read.promise
      this.#socket.sendJson({ exit: exitCodeOf(exit) })
      this.#socket.close(NORMAL)
    } catch {
      this.#socket.close(LspClose.serverBroken, 'the guest is gone')
    }
  }

  #receive(frame: Buffer, isBinary: boolean): void {
    const isFirst = this.#input.framing === undefined
    const bytes = this.#checked(() => this.#input.take(frame, isBinary), LspClose.badFraming)
    const { framing } = this.#input
    if (bytes === undefined || framing === undefined) return
    if (isFirst) this.#deliver(framing)
    this.#socket.addPendingInput(bytes.length)
    this.#server.stdin.write(bytes, () => this.#socket.removePendingInput(bytes.length))
  }

  #deliver(framing: LspFraming): void {
    const { stdout, stderr } = this.#server
    const messages = new MessageSplitter()
    stdout.on('data', (chunk: Buffer) => {
      for (const message of this.#checked(() => messages.push(chunk), LspClose.serverBroken) ?? []) {
        this.#send(framing, framing.kind === 'base' ? message.bytes : message.content)
      }
    })
    const lines = new LineSplitter()
    const sendStderr = (written: readonly string[]) => {
      if (framing.kind === 'base') for (const line of written) this.#socket.sendJson({ stream: 'stderr', line })
      this.#holdBack()
    }
    stderr.on('data', (chunk: Buffer) => {
      this.#log.write('stderr', chunk)
      sendStderr(lines.push(chunk))
    })
    stderr.once('end', () => sendStderr(lines.end()))
    const ended = [stdout, stderr].map((stream) => new Promise((resolve) => stream.once('close', resolve)))
    void Promise.all(ended).then(() => this.#read.resolve())
  }

  #send({ isBinary }: LspFraming, bytes: Buffer): void {
    if (isBinary) this.#socket.sendBytes(bytes)
    else this.#socket.sendText(bytes.toString())
    this.#holdBack()
  }

  #holdBack(): void {
    if (!this.#socket.isFull) return
    this.#server.stdout.pause()
    this.#server.stderr.pause()
  }

  #resume(): void {
    this.#server.stdout.resume()
    this.#server.stderr.resume()
  }

  /** The result of `parse`; `undefined` after a protocol error, for which this closes the session. */
  #checked<T>(parse: () => T, code: number): T | undefined {
    try {
      return parse()
    } catch (error) {
      if (!(error instanceof BaseProtocolError)) throw error
      const isClients = code === LspClose.badFraming
      this.#socket.close(isClients && error.isTooLarge ? LspClose.tooLarge : code, error.message)
      this.#server.kill('SIGKILL')
      return undefined
    }
  }
}
