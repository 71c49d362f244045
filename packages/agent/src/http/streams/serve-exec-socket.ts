/**
 * The commands of one WebSocket (`GET exec/ws`), each under an id that the caller chose.
 *
 *     (frame with cmd or argv) ──► starting ──► running ──► ended, id free again
 *
 * Frames for one command apply in order, also while it starts. Frames for different commands do not wait for each other.
 * When the socket closes, the agent kills all commands.
 */
import { isEncoded } from '@offshoot/contract/encoding'
import { ApiError } from '@offshoot/contract/errors'
import { execBody, type ExecBody } from '@offshoot/contract/exec'
import {
  type CommandFrame,
  commandFrame,
  frameId,
  MAX_FRAME_BYTES,
  MAX_SOCKET_COMMANDS,
} from '@offshoot/contract/exec-socket'
import type { z } from 'zod'
import type { AcceptedSocket } from './accept-web-socket.ts'
import type { Sandbox } from '../../sandbox/model/sandbox.ts'
import { bytesOf } from '../../sandbox/commands/chunk-encoder.ts'
import { failureOf, StreamedCommand } from '../../sandbox/commands/streamed-command.ts'

interface Entry {
  /** `null` until it has started, and if its start failed. */
  command: StreamedCommand | null
  /** Resolves when the latest frame for this command has been applied. */
  done: Promise<void>
}

type Fields = Record<string, unknown>

export class ExecSocket {
  readonly #sandbox: Sandbox
  readonly #socket: AcceptedSocket
  readonly #commands = new Map<string, Entry>()
  #isClosed = false

  constructor(sandbox: Sandbox, socket: AcceptedSocket) {
    this.#sandbox = sandbox
    this.#socket = socket
    socket.listen({
      onMessage: (data, isBinary) => this.#receive(data, isBinary),
      onDrain: () => this.#each((command) => command.resume()),
    })
    void socket.closed.then(() => this.close())
  }

  close(): void {
    this.#isClosed = true
    this.#each((command) => command.abandon())
  }

  #each(act: (command: StreamedCommand) => void): void {
    for (const { command } of this.#commands.values()) if (command !== null) act(command)
  }

  #receive(data: Buffer, isBinary: boolean): void {
    const frame = isBinary ? 'frames are text' : readFrame(data)
    if (typeof frame === 'string') {
      this.#socket.sendJson({ id: '', error: frame })
      return
    }
    const id = frameId.safeParse(frame['id'])
    if (!id.success) this.#socket.sendJson({ id: '', error: refusalOf(id) })
    else if (frame['cmd'] === undefined && frame['argv'] === undefined) this.#instruct(id.data, frame, data.length)
    else this.#run(id.data, frame)
  }

  #run(id: string, frame: Fields): void {
    const body = execBody.safeParse(frame)
    const control = commandFrame.omit({ stdin: true }).safeParse(frame)
    if (!body.success) return this.#refuse(id, refusalOf(body))
    if (!control.success) return this.#refuse(id, refusalOf(control))
    if (body.data.background) return this.#refuse(id, 'background is for exec and exec/stream')
    if (this.#commands.has(id)) return this.#refuse(id, 'id is in use')
    if (this.#commands.size >= MAX_SOCKET_COMMANDS) {
      return this.#refuse(id, `too many commands: at most ${MAX_SOCKET_COMMANDS} on one socket`)
    }
    const entry: Entry = { command: null, done: Promise.resolve() }
    this.#commands.set(id, entry)
    entry.done = this.#start(id, entry, body.data, { ...control.data, stdin: undefined })
  }

  async #start(id: string, entry: Entry, body: ExecBody, frame: CommandFrame): Promise<void> {
    try {
      entry.command = await StreamedCommand.start(this.#sandbox, body, true)
    } catch (error) {
      this.#commands.delete(id)
      return this.#refuse(id, error instanceof ApiError ? explained(error) : 'internal error')
    }
    if (this.#isClosed) return entry.command.abandon()
    void this.#follow(id, entry.command)
    this.#apply(entry.command, frame)
  }

  async #follow(id: string, command: StreamedCommand): Promise<void> {
    command.stdin.on('error', () => undefined)
    command.deliver((stream, data) => {
      this.#socket.sendJson({ id, stream, data })
      if (this.#socket.isFull) this.#each((each) => each.pause())
    })
    if (this.#socket.isFull) command.pause()
    const outcome = await command.ended
    this.#commands.delete(id)
    if (outcome.kind === 'exit') this.#socket.sendJson({ id, exit: outcome.exitCode, duration_ms: outcome.durationMs })
    else this.#refuse(id, failureOf(outcome, this.#sandbox))
  }

  #instruct(id: string, fields: Fields, bytes: number): void {
    const frame = commandFrame.safeParse(fields)
    if (!frame.success) return this.#refuse(id, refusalOf(frame))
    const { stdin, stdin_eof: eof, signal, cancel } = frame.data
    if (stdin === undefined && !eof && signal === undefined && !cancel) {
      return this.#refuse(id, 'frame asks for nothing: cmd, argv, stdin, stdin_eof, signal or cancel')
    }
    const entry = this.#commands.get(id)
    if (entry === undefined) return this.#refuse(id, 'no such command')
    this.#socket.addPendingInput(bytes)
    entry.done = this.#applyLater(id, entry, frame.data, bytes)
  }

  async #applyLater(id: string, entry: Entry, frame: CommandFrame, bytes: number): Promise<void> {
    await entry.done
    const give = () => this.#socket.removePendingInput(bytes)
    const { command } = entry
    if (command === null || frame.stdin === undefined) give()
    if (command === null) return
    if (isEncoded(frame.stdin ?? '', command.encoding)) return this.#apply(command, frame, give)
    give()
    this.#refuse(id, 'stdin must be base64')
  }

  /** @param onTaken called when the command has read its input, or never will */
  #apply(command: StreamedCommand, frame: CommandFrame, onTaken: () => void = () => undefined): void {
    if (frame.stdin !== undefined) command.stdin.write(bytesOf(frame.stdin, command.encoding), onTaken)
    if (frame.stdin_eof) command.stdin.end()
    if (frame.signal !== undefined) command.kill(frame.signal)
    if (frame.cancel) command.kill('SIGKILL')
  }

  #refuse(id: string, error: string): void {
    this.#socket.sendJson({ id, error })
  }
}

/** The fields of a frame, or an error text. */
function readFrame(data: Buffer): Fields | string {
  if (data.length > MAX_FRAME_BYTES) return `frame too large: at most ${MAX_FRAME_BYTES} bytes`
  try {
    const value: unknown = JSON.parse(data.toString())
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Fields
    return 'bad json: not an object'
  } catch (error) {
    return `bad json: ${(error as Error).message}`
  }
}

function refusalOf({ error }: z.ZodSafeParseError<unknown>): string {
  return error.issues[0]?.message ?? 'invalid frame'
}

function explained({ body }: ApiError): string {
  return body.detail === undefined ? body.error : `${body.error}: ${body.detail}`
}
