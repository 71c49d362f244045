import { MissingDataError, NotFoundError } from '../http/errors.ts'
import type { BackgroundExec, BackgroundStarted } from '../generated/models.ts'
import { resumed } from '../http/resumed.ts'
import { Opened } from '../http/routes.ts'
import type { Scope } from '../http/scope.ts'
import { type CallOptions } from '../http/transport.ts'
import { type CommandLine, type CommandOptions, commandBody } from './exec.ts'
import { decodeChunk, type OutputChunk, type OutputEncoding, wireEncoding, wireInput } from './output.ts'

/** A size in characters. */
export interface TerminalSize {
  readonly rows: number
  readonly cols: number
}

export interface StartOptions extends CommandOptions, Omit<CallOptions, 'idempotencyKey'> {
  /** Keeps the standard input open after `stdin`, for {@link Command.write}. Default: false. */
  readonly stdinOpen?: boolean | undefined
  /**
   * Makes the command wait while a reader has not read what would be dropped, so that no output is lost. Default: false;
   * the service then keeps the last MiB.
   */
  readonly backpressure?: boolean | undefined
  /** Gives the command a terminal of this size. All its output is then stdout. */
  readonly pty?: TerminalSize | undefined
}

export interface OutputOptions<E extends OutputEncoding = 'text'> extends Omit<CallOptions, 'idempotencyKey'> {
  /** Byte of the output to begin with. Default: the oldest that the service has. */
  readonly offset?: number | undefined
  /** Default: `text`. */
  readonly encoding?: E | undefined
  /** Called instead of throwing {@link MissingDataError} if the service no longer has a part of the output. */
  readonly onGap?: ((gap: { readonly from: number; readonly to: number }) => void) | undefined
}

/** A part of the output, and the offset at which the next part begins. */
export type OffsetChunk<E extends OutputEncoding = 'text'> = OutputChunk<E> & { readonly offset: number }

export type Signal = number | string

interface FollowData {
  readonly chunk?: string
  readonly exitCode?: number
  readonly error?: string
  readonly from?: number
  readonly to?: number
}

/** Commands that run on their own: they outlive the connection, and restarts of every service. */
export class Commands {
  readonly #scope: Scope

  /** @internal */
  constructor(scope: Scope) {
    this.#scope = scope
  }

  /** Starts a command and returns without waiting for it. */
  async start(command: CommandLine, options: StartOptions = {}): Promise<Command> {
    const { signal, timeoutMs, maxRetries, stdinOpen, backpressure, pty, ...how } = options
    const started = (await this.#scope.call('POST /v1/sandboxes/{id}/exec', {
      signal,
      timeoutMs,
      maxRetries,
      body: {
        ...commandBody(command, how),
        background: true,
        ...(stdinOpen !== undefined && { stdin_open: stdinOpen }),
        ...(backpressure !== undefined && { backpressure }),
        ...(pty !== undefined && { pty }),
      },
    })) as BackgroundStarted
    return new Command(this.#scope, started.execId, started.pid)
  }

  /** Attaches to a command that was started earlier. */
  async get(execId: string, options: CallOptions = {}): Promise<Command> {
    const scope = this.#scope.with({ exec_id: execId })
    const info = await scope.get('GET /v1/sandboxes/{id}/execs/{exec_id}', options)
    return new Command(this.#scope, info.execId, info.pid)
  }

  /** The commands that run, and those that have ended and are still known. */
  async list(options: CallOptions = {}): Promise<BackgroundExec[]> {
    return this.#scope.get('GET /v1/sandboxes/{id}/execs', options)
  }
}

/** Longest time for which the service waits in one request. */
const WAIT_SECONDS = 60

/** A command that runs on its own. */
export class Command {
  readonly id: string
  /** Process id in the sandbox, and id of its process group. */
  readonly pid: number
  readonly #scope: Scope

  /** @internal */
  constructor(scope: Scope, id: string, pid: number) {
    this.id = id
    this.pid = pid
    this.#scope = scope.with({ exec_id: id })
  }

  /** The state of the command now. */
  async info(options: CallOptions = {}): Promise<BackgroundExec> {
    return this.#scope.get('GET /v1/sandboxes/{id}/execs/{exec_id}', options)
  }

  /**
   * Waits until the command ends. Without `timeoutMs` there is no limit.
   * @throws TimeoutError when the time is over; the command runs on
   */
  async wait({ timeoutMs = 0, ...options }: CallOptions = {}): Promise<BackgroundExec & { readonly exitCode: number }> {
    const endsAtMs = timeoutMs > 0 ? Date.now() + timeoutMs : Infinity
    for (;;) {
      const leftMs = Math.max(endsAtMs - Date.now(), 1)
      const info = await this.#scope.call('GET /v1/sandboxes/{id}/execs/{exec_id}/wait', {
        ...options,
        timeoutMs: leftMs === Infinity ? undefined : leftMs,
        query: { timeout_seconds: WAIT_SECONDS },
      })
      if (info.exitCode !== null) return { ...info, exitCode: info.exitCode }
    }
  }

  /**
   * Yields the output from an offset on, then live, until the command ends. If the connection breaks, it continues where
   * it was. Leaving the loop does not end the command.
   * @throws MissingDataError if the service no longer has a part of it, unless `onGap` is given
   */
  async *output<E extends OutputEncoding = 'text'>(
    options: OutputOptions<E> = {},
  ): AsyncGenerator<OffsetChunk<E>, void, undefined> {
    const { encoding, onGap, offset: first, ...call } = options
    const route = 'GET /v1/sandboxes/{id}/execs/{exec_id}/stream'
    let offset = first
    const next = () => this.#scope.request(route, { ...call, query: { offset, encoding: wireEncoding(encoding) } })
    for await (const frame of resumed(this.#scope.transport, next, { isEnd: () => false })) {
      if (frame instanceof Opened || frame === 'closed') continue
      const { event, id } = frame
      const { chunk, from = 0, to = 0 } = JSON.parse(frame.data) as FollowData
      if (id !== null) offset = Number(id)
      if (event === 'gap') {
        if (onGap === undefined) throw new MissingDataError('bytes', from, to)
        onGap({ from, to })
      } else if (event === 'stdout' || event === 'stderr') {
        yield { stream: event, data: decodeChunk(chunk ?? '', encoding), offset: offset ?? 0 }
      } else if (event === 'exit') return
    }
  }

  /** Writes to the standard input of a command that was started with `stdinOpen` or a `pty`. */
  async write(stdin: string | Uint8Array, options: CallOptions = {}): Promise<void> {
    await this.#input(wireInput(stdin), options)
  }

  /** Closes the standard input. */
  async closeStdin(options: CallOptions = {}): Promise<void> {
    await this.#input({ eof: true }, options)
  }

  async #input(body: object, options: CallOptions): Promise<void> {
    await this.#scope.call('POST /v1/sandboxes/{id}/execs/{exec_id}/stdin', { ...options, body })
  }

  /** Sends a signal to the process group, e.g. `SIGINT`. */
  async signal(signal: Signal, options: CallOptions = {}): Promise<void> {
    await this.#scope.call('POST /v1/sandboxes/{id}/execs/{exec_id}/signal', { ...options, body: { signal } })
  }

  /** Ends the process group with SIGKILL. It is no error if it has ended. */
  async kill(options: CallOptions = {}): Promise<void> {
    await this.signal('SIGKILL', options)
  }

  /** Changes the size of the terminal of a command that was started with a `pty`. */
  async resize(size: TerminalSize, options: CallOptions = {}): Promise<void> {
    await this.#scope.call('POST /v1/sandboxes/{id}/execs/{exec_id}/resize', {
      ...options,
      body: size,
      isIdempotent: true,
    })
  }

  /** Ends the command and forgets it with its output. */
  async delete(options: CallOptions = {}): Promise<void> {
    await this.#scope.delete('DELETE /v1/sandboxes/{id}/execs/{exec_id}', options)
  }

  /** The same, so that `await using` ends what it started. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.delete().catch((error: unknown) => {
      if (!(error instanceof NotFoundError)) throw error
    })
  }
}
