import { z } from 'zod'
import { encoding, isEncoded } from './encoding.ts'
import { env } from './env.ts'
import { flag, integer, oneRequired, optional, text } from './fields.ts'
import { terminalSize } from './terminal.ts'

/** Maximum bytes per output stream in one answer. The rest is dropped, and `truncated` is set. */
export const MAX_OUTPUT_BYTES = 16 * 1024 * 1024
/** Bytes. The kernel refuses a longer argument (MAX_ARG_STRLEN is 131072 including the NUL). */
const MAX_CMD_BYTES = 131_071
/** Maximum characters of `stdin`. The route's body limit is larger. */
const MAX_STDIN_CHARS = 8 * 1024 * 1024

/** Arguments of a command. The guest takes at most 256 KiB of arguments and variables. */
const MAX_ARGUMENTS = 4096

const timeoutSeconds = (name: string) => optional(integer(name, 1, 86_400))

const withoutNul = (name: string, maxChars: number) =>
  text(name, maxChars).refine((value) => !value.includes('\0'), `${name} must not contain NUL`)

const argument = (name: string) =>
  withoutNul(name, MAX_CMD_BYTES).refine(
    (value) => new TextEncoder().encode(value).length <= MAX_CMD_BYTES,
    `${name} must be at most ${MAX_CMD_BYTES} bytes`,
  )

/** Body of `POST /v1/sandboxes/{id}/exec`, without the rules about several fields. */
const execFields = z.object({
  /** Runs under `sh -c`, in its own process group. Either this or `argv` is required. */
  cmd: optional(argument('cmd')),
  /** A program and its arguments, which run without a shell. The program is looked up in `PATH`. */
  argv: optional(
    z
      .array(argument('argv'), { error: 'argv must be an array of strings' })
      .min(1, 'argv must not be empty')
      .max(MAX_ARGUMENTS, `argv must have at most ${MAX_ARGUMENTS} entries`)
      .refine(([program]) => program !== '', 'argv must begin with a program'),
  ),
  /**
   * Seconds, 1 to 86400; no timeout by default. At the timeout the agent kills the process group and answers 504. A
   * background command then ends by SIGKILL.
   */
  timeout_seconds: timeoutSeconds('timeout_seconds'),
  /** The name that older clients use for `timeout_seconds`. */
  timeout: timeoutSeconds('timeout'),
  /** Absolute path. Default: the user's home. */
  cwd: optional(withoutNul('cwd', 4095)),
  env,
  /** User name or numeric id. Default: `root`. */
  user: optional(withoutNul('user', 64)),
  stdin: optional(text('stdin', MAX_STDIN_CHARS)),
  /** Of `stdin`, and of the output in the answer. */
  encoding,
  /**
   * If true, the command survives the connection (`…/execs/{exec_id}`). `POST exec` then answers 201 at once, and the
   * stream of `POST exec/stream` begins with `started`.
   */
  background: optional(flag('background')),
  /** Of a background command: standard input stays open after `stdin` (`…/execs/{exec_id}/stdin`). */
  stdin_open: optional(flag('stdin_open')),
  /**
   * Of a background command: it waits while a client that follows its output has not read what would be dropped. It
   * also waits for its first client, for at most 10 s. Without a client the oldest output is dropped.
   */
  backpressure: optional(flag('backpressure')),
  /** Of a background command: a terminal of this size is its input and output. Its output is then all stdout. */
  pty: optional(terminalSize('pty')),
})

export const execBody = execFields
  .check(({ value, issues }) => {
    const refuse = (message: string) => issues.push({ code: 'custom', message, input: value })
    if (value.cmd === undefined && value.argv === undefined) refuse('cmd required')
    else if (value.cmd === '') refuse('cmd required')
    else if (value.cmd !== undefined && value.argv !== undefined) refuse('cmd and argv exclude each other')
    else if (!isEncoded(value.stdin ?? '', value.encoding)) refuse('stdin must be base64')
    else if (value.background !== true && value.stdin_open === true) refuse('stdin_open is for background commands')
    else if (value.background !== true && value.backpressure === true) refuse('backpressure is for background commands')
    else if (value.background !== true && value.pty !== undefined) refuse('pty is for background commands')
  })
  .meta(oneRequired('cmd', 'argv'))
export type ExecBody = z.infer<typeof execBody>

/** The program and arguments that a body asks for. */
export function argvOf({ argv, cmd = '' }: Pick<ExecBody, 'argv' | 'cmd'>): readonly string[] {
  return argv ?? ['/bin/sh', '-c', cmd]
}

/** Answer of `POST /v1/sandboxes/{id}/exec`. */
export const execResult = z.object({
  /** In the requested encoding. Under `utf8`, invalid bytes are replaced by U+FFFD. */
  stdout: z.string(),
  stderr: z.string(),
  /** 128 + signal if a signal ended the command. */
  exit_code: z.int(),
  duration_ms: z.int(),
  /** Present if a stream exceeded {@link MAX_OUTPUT_BYTES}. */
  truncated: z.literal(true).optional(),
})
export type ExecResult = z.infer<typeof execResult>

/**
 * `data` of each event of `POST exec/stream`. `stdout` and `stderr` carry `chunk`; `exit` or `error` ends the stream.
 */
export const execEvent = z.union([
  /** `started`, of a background command: its ids. */
  z.object({ pid: z.int(), exec_id: z.string() }),
  /** Under `utf8` a chunk never splits a character, and invalid bytes are replaced by U+FFFD. */
  z.object({ chunk: z.string() }),
  /** 128 + signal if a signal ended the command. */
  z.object({ exit_code: z.int(), duration_ms: z.int() }),
  /** E.g. `command timeout after <n>s`. */
  z.object({ error: z.string() }),
])
