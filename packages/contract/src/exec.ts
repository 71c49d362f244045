import { z } from 'zod'
import { env } from './env.ts'
import { flag, integer, optional, requiredText, text } from './fields.ts'

/** Maximum bytes per output stream in one answer. The rest is dropped, and `truncated` is set. */
export const MAX_OUTPUT_BYTES = 16 * 1024 * 1024
/** Bytes. The kernel refuses a longer argument (MAX_ARG_STRLEN is 131072 including the NUL). */
const MAX_CMD_BYTES = 131_071
/** Maximum characters of `stdin`. The route's body limit is larger. */
const MAX_STDIN_CHARS = 8 * 1024 * 1024

const timeoutSeconds = (name: string) => optional(integer(name, 1, 86_400))

const withoutNul = (name: string, maxChars: number) =>
  text(name, maxChars).refine((value) => !value.includes('\0'), `${name} must not contain NUL`)

/** Body of `POST /v1/sandboxes/{id}/exec`. `cmd` runs under `sh -c` in its own process group. */
export const execBody = z.object({
  cmd: requiredText('cmd', MAX_CMD_BYTES)
    .refine((cmd) => !cmd.includes('\0'), 'cmd must not contain NUL')
    .refine(
      (cmd) => new TextEncoder().encode(cmd).length <= MAX_CMD_BYTES,
      `cmd must be at most ${MAX_CMD_BYTES} bytes`,
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
  /** If true, `POST exec` answers 201 at once, and the command survives the connection (`…/execs/{exec_id}`). */
  background: optional(flag('background')),
})
export type ExecBody = z.infer<typeof execBody>

/** Answer of `POST /v1/sandboxes/{id}/exec`. */
export const execResult = z.object({
  /** Invalid UTF-8 is replaced by U+FFFD. */
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
  /** A chunk never splits a UTF-8 character; invalid UTF-8 is replaced by U+FFFD. */
  z.object({ chunk: z.string() }),
  /** 128 + signal if a signal ended the command. */
  z.object({ exit_code: z.int(), duration_ms: z.int() }),
  /** E.g. `command timeout after <n>s`. */
  z.object({ error: z.string() }),
])
