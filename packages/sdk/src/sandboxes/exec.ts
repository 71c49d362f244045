import { ConnectionError, OffshootError } from '../http/errors.ts'
import type { Scope } from '../http/scope.ts'
import type { CallOptions } from '../http/transport.ts'
import {
  type CommandExit,
  decodeChunk,
  type OutputChunk,
  type OutputEncoding,
  wireEncoding,
  wireInput,
} from './output.ts'

/** A shell command, or a program with its arguments, which runs without a shell. */
export type CommandLine = string | readonly string[]

/** How a command runs. */
export interface CommandOptions {
  /** Absolute path. Default: the home of the user. */
  readonly cwd?: string | undefined
  /** Variables in addition to those of the sandbox. */
  readonly env?: Readonly<Record<string, string>> | undefined
  /** Name or numeric id. Default: `root`. */
  readonly user?: string | undefined
  /** Seconds, 1 to 86400, after which the service kills the command with its children. Default: none. */
  readonly timeoutSeconds?: number | undefined
  /** What the command reads from its standard input. Default: nothing. */
  readonly stdin?: string | Uint8Array | undefined
}

export interface ExecOptions extends CommandOptions, Omit<CallOptions, 'idempotencyKey'> {
  /** Throws {@link CommandFailedError} unless the exit code is 0. Default: false. */
  readonly check?: boolean | undefined
  /** Called with each part of the output as it arrives. */
  readonly onOutput?: ((chunk: OutputChunk) => void) | undefined
}

export interface ExecStreamOptions<E extends OutputEncoding = 'text'>
  extends CommandOptions, Omit<CallOptions, 'idempotencyKey'> {
  /** Default: `text`. */
  readonly encoding?: E | undefined
}

/** What a finished command has left. */
export interface ExecResult extends CommandExit {
  readonly stdout: string
  readonly stderr: string
  /** Whether an output had more than 16 Mi characters, so that its end is missing. */
  readonly isTruncated: boolean
}

/** Characters of each output in a result. Use `exec.stream` for more. */
const MAX_OUTPUT_CHARS = 16 * 1024 * 1024

/** Runs commands and waits for their end. Aborting a call kills the command with its children. */
export interface Exec {
  /**
   * Runs a command. The result says whether it failed; nothing is thrown for that unless `check` asks for it.
   * @throws ApiError, ConnectionError, {@link CommandTimeoutError}
   */
  (command: CommandLine, options?: ExecOptions): Promise<ExecResult>
  /** Runs a command and yields its output while it runs. Leaving the loop kills the command. */
  stream<E extends OutputEncoding = 'text'>(command: CommandLine, options?: ExecStreamOptions<E>): ExecStream<E>
}

/** Command with `check` that has ended with another exit code than 0. */
export class CommandFailedError extends OffshootError {
  override readonly name = 'CommandFailedError'
  readonly result: ExecResult

  constructor(command: CommandLine, result: ExecResult) {
    const output = (result.stderr || result.stdout).trimEnd().slice(-1000)
    super(`exit code ${result.exitCode} of ${shown(command)}${output === '' ? '' : `:\n${output}`}`)
    this.result = result
  }
}

/** The service has killed a command because its `timeoutSeconds` were over. */
export class CommandTimeoutError extends OffshootError {
  override readonly name = 'CommandTimeoutError'
  /** Output until then, if `exec` collected it. */
  readonly stdout: string
  readonly stderr: string

  constructor(message: string, stdout = '', stderr = '') {
    super(message)
    this.stdout = stdout
    this.stderr = stderr
  }
}

const shown = (command: CommandLine) =>
  JSON.stringify(typeof command === 'string' ? command : command.join(' ')).slice(0, 200)

/** The fields of the API for a command. */
export function commandBody(
  command: CommandLine,
  { stdin, timeoutSeconds, cwd, env, user }: CommandOptions,
): Record<string, unknown> {
  return {
    ...(typeof command === 'string' ? { cmd: command } : { argv: command }),
    ...(stdin !== undefined && wireInput(stdin)),
    ...(timeoutSeconds !== undefined && { timeout_seconds: timeoutSeconds }),
    ...(cwd !== undefined && { cwd }),
    ...(env !== undefined && { env }),
    ...(user !== undefined && { user }),
  }
}

interface ExecEventData {
  readonly chunk?: string
  readonly exitCode?: number
  readonly durationMs?: number
  readonly error?: string
}

/** The output of a command while it runs. It can be iterated over once. */
export class ExecStream<E extends OutputEncoding = 'text'> implements AsyncIterable<OutputChunk<E>> {
  /** The end of the command. Settles only while something iterates over the output. */
  readonly exit: Promise<CommandExit>
  readonly #scope: Scope
  readonly #command: CommandLine
  readonly #options: ExecStreamOptions<E>
  #settle!: { resolve: (exit: CommandExit) => void; reject: (error: unknown) => void }

  /** @internal */
  constructor(scope: Scope, command: CommandLine, options: ExecStreamOptions<E>) {
    this.#scope = scope
    this.#command = command
    this.#options = options
    this.exit = new Promise((resolve, reject) => (this.#settle = { resolve, reject }))
    // Whoever iterates sees the error too.
    this.exit.catch(() => undefined)
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<OutputChunk<E>, void, undefined> {
    const { signal, timeoutMs, maxRetries, encoding, ...how } = this.#options
    // In the request, `base64` holds for input and output.
    const stdin =
      encoding === 'bytes' && typeof how.stdin === 'string' ? new TextEncoder().encode(how.stdin) : how.stdin
    const coded = { ...commandBody(this.#command, { ...how, stdin }) }
    const isInputCoded = coded['encoding'] === 'base64'
    const wire = isInputCoded ? 'base64' : wireEncoding(encoding)
    const decoder = { stdout: new TextDecoder(), stderr: new TextDecoder() }
    const events = this.#scope.stream<ExecEventData>('POST /v1/sandboxes/{id}/exec/stream', {
      signal,
      timeoutMs,
      maxRetries,
      body: { ...coded, encoding: wire },
    })
    try {
      for await (const { event, data } of events) {
        const { chunk, exitCode, durationMs = 0, error } = data
        if (chunk !== undefined && (event === 'stdout' || event === 'stderr')) {
          // Bytes of input make the service send bytes of output.
          const decoded =
            isInputCoded && encoding !== 'bytes'
              ? decoder[event].decode(decodeChunk(chunk, 'bytes'), { stream: true })
              : decodeChunk(chunk, encoding)
          if (decoded.length > 0) yield { stream: event, data: decoded } as OutputChunk<E>
        } else if (exitCode !== undefined) {
          return this.#settle.resolve({ exitCode, durationMs })
        } else if (error !== undefined) {
          throw this.#failure(error)
        }
      }
      throw new ConnectionError('the connection ended before the command: the service has killed it')
    } catch (error) {
      this.#settle.reject(error)
      throw error
    } finally {
      this.#settle.reject(new OffshootError('nothing reads the output any more: the service has killed the command'))
    }
  }

  #failure(error: string): OffshootError {
    const { timeoutSeconds } = this.#options
    return timeoutSeconds !== undefined && /timeout/i.test(error)
      ? new CommandTimeoutError(error)
      : new OffshootError(error)
  }
}

/** @internal */
export function makeExec(scope: Scope): Exec {
  const stream = <E extends OutputEncoding>(command: CommandLine, options: ExecStreamOptions<E> = {}) =>
    new ExecStream<E>(scope, command, options)
  const exec = async (command: CommandLine, options: ExecOptions = {}): Promise<ExecResult> => {
    const { check = false, onOutput, ...how } = options
    const running = stream(command, how)
    const output = { stdout: '', stderr: '' }
    let isTruncated = false
    try {
      for await (const chunk of running) {
        onOutput?.(chunk)
        const room = MAX_OUTPUT_CHARS - output[chunk.stream].length
        output[chunk.stream] += chunk.data.slice(0, room)
        isTruncated ||= chunk.data.length > room
      }
    } catch (error) {
      if (error instanceof CommandTimeoutError)
        throw new CommandTimeoutError(error.message, output.stdout, output.stderr)
      throw error
    }
    const result = { ...output, ...(await running.exit), isTruncated }
    if (check && result.exitCode !== 0) throw new CommandFailedError(command, result)
    return result
  }
  return Object.assign(exec, { stream })
}
