/**
 * One command whose output is streamed to a caller.
 *
 *     running ──EXIT──────► ended     (after all output was delivered)
 *        ├──timeout───────► ended     (process group killed)
 *        └──link lost─────► ended
 *
 * Invariants: while the caller is slow, the agent buffers at most the channel's flow-control windows, and the command blocks
 * (backpressure); after `ended` nothing more is written.
 */
import type { Readable, Writable } from 'node:stream'
import type { ExecBody } from '@offshoot/contract/exec'
import type { GuestExit, GuestProcess } from '@offshoot/guest-link/guest-process'
import type { CommandLog } from '../../store/logs/command-log.ts'
import { startDeadline } from '../../machine/guest/command.ts'
import { guestCommand, notRunningReason, withGuest } from '../model/guest-access.ts'
import type { Sandbox } from '../model/sandbox.ts'
import type { Encoding } from '@offshoot/contract/encoding'
import { bytesOf, chunkEncoder } from './chunk-encoder.ts'

export type CommandOutcome =
  | { readonly kind: 'exit'; readonly exitCode: number; readonly durationMs: number }
  | { readonly kind: 'timeout'; readonly seconds: number }
  | { readonly kind: 'lost'; readonly error: Error }

type WriteOutput = (stream: 'stdout' | 'stderr', text: string) => void

export class StreamedCommand {
  readonly ended: Promise<CommandOutcome>
  readonly #process: GuestProcess
  readonly #log: CommandLog
  readonly #startedAt: number
  readonly #encoding: Encoding | undefined
  readonly #ended = Promise.withResolvers<CommandOutcome>()
  #timer: NodeJS.Timeout | undefined
  #isOver = false

  private constructor(process: GuestProcess, log: CommandLog, startedAt: number, encoding: Encoding | undefined) {
    this.#process = process
    this.#encoding = encoding
    this.#startedAt = startedAt
    this.#log = log
    this.ended = this.#ended.promise
  }

  /** @throws ApiError if the command cannot start; then nothing ran */
  static async start(sandbox: Sandbox, body: ExecBody, keepsStdin: boolean): Promise<StreamedCommand> {
    const startedAt = performance.now()
    const hasStdin = keepsStdin || body.stdin !== undefined
    const process = await withGuest(sandbox, (link) =>
      link.run({ ...guestCommand(sandbox, body), stdin: hasStdin ? 'pipe' : 'none' }, startDeadline()),
    )
    const command = new StreamedCommand(process, sandbox.log.command(), startedAt, body.encoding)
    if (body.stdin !== undefined) process.stdin.write(bytesOf(body.stdin, body.encoding))
    if (!keepsStdin) process.stdin.end()
    const seconds = body.timeout_seconds ?? body.timeout
    if (seconds !== undefined) {
      const leftMs = seconds * 1000 - (performance.now() - startedAt)
      command.#timer = setTimeout(() => command.#end({ kind: 'timeout', seconds }), leftMs)
    }
    return command
  }

  /** Of the output, and of input. */
  get encoding(): Encoding | undefined {
    return this.#encoding
  }

  /** The command may exit without reading all input. The rest is lost, as on a pipe. */
  get stdin(): Writable {
    return this.#process.stdin
  }

  pause(): void {
    this.#process.stdout.pause()
    this.#process.stderr.pause()
  }

  resume(): void {
    if (this.#isOver) return
    this.#process.stdout.resume()
    this.#process.stderr.resume()
  }

  kill(signal: NodeJS.Signals): void {
    this.#process.kill(signal)
  }

  /** The caller is gone: kills the process group. */
  abandon(): void {
    this.#end({ kind: 'lost', error: new Error('the caller hung up') })
  }

  /** Starts delivering output. Until then the output is not read, and the command may block. Call once. */
  deliver(write: WriteOutput): void {
    const stdout = this.#deliver(this.#process.stdout, 'stdout', write)
    const stderr = this.#deliver(this.#process.stderr, 'stderr', write)
    Promise.all([this.#process.exited, stdout, stderr]).then(
      ([exit]) =>
        this.#end({
          kind: 'exit',
          exitCode: exitCodeOf(exit),
          durationMs: Math.round(performance.now() - this.#startedAt),
        }),
      (error: unknown) => this.#end({ kind: 'lost', error: error as Error }),
    )
  }

  #deliver(output: Readable, stream: 'stdout' | 'stderr', write: WriteOutput): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const text = chunkEncoder(this.#encoding)
    const pass = (part: string) => {
      if (part !== '' && !this.#isOver) write(stream, part)
    }
    output.on('data', (chunk: Buffer) => {
      this.#log.write(stream, chunk)
      pass(text.push(chunk))
    })
    output.once('end', () => {
      pass(text.end())
      resolve()
    })
    output.once('error', reject)
    return promise
  }

  #end(outcome: CommandOutcome): void {
    if (this.#isOver) return
    this.#isOver = true
    clearTimeout(this.#timer)
    if (outcome.kind !== 'exit') {
      this.#process.kill('SIGKILL')
      // Discard the output of the killed process group: unread output would block the link's flow control.
      this.#process.stdout.destroy()
      this.#process.stderr.destroy()
      this.#process.stdin.destroy()
    }
    this.#log.end()
    this.#ended.resolve(outcome)
  }
}

/** 128 + signal if a signal ended the process. */
export function exitCodeOf({ exitCode, signal }: GuestExit): number {
  return exitCode ?? 128 + (signal ?? 0)
}

/** The error text for callers if a command has no exit code. */
export function failureOf(outcome: Exclude<CommandOutcome, { kind: 'exit' }>, sandbox: Sandbox): string {
  return outcome.kind === 'timeout' ? `command timeout after ${outcome.seconds}s` : notRunningReason(sandbox)
}
