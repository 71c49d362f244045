import { z } from 'zod'
import { env } from './env.ts'
import { flag, integer, optional, requiredText, text } from './fields.ts'

/** Bytes of each output stream that one answer holds; what comes after is dropped and `truncated` set. */
export const MAX_OUTPUT_BYTES = 16 * 1024 * 1024
/** Bytes; the kernel refuses a longer single argument (MAX_ARG_STRLEN is 131072 with its NUL). */
const MAX_CMD_BYTES = 131_071
/** Characters of `stdin`; the body limit of the route is above it. */
const MAX_STDIN_CHARS = 8 * 1024 * 1024

const timeoutSeconds = (name: string) => optional(integer(name, 1, 86_400))

const withoutNul = (name: string, maxChars: number) =>
  text(name, maxChars).refine((value) => !value.includes('\0'), `${name} must not contain NUL`)

/** Body of `POST /v1/sandboxes/{id}/exec`. `cmd` runs under `sh -c` in a process group of its own. */
export const execBody = z.object({
  cmd: requiredText('cmd', MAX_CMD_BYTES)
    .refine((cmd) => !cmd.includes('\0'), 'cmd must not contain NUL')
    .refine(
      (cmd) => new TextEncoder().encode(cmd).length <= MAX_CMD_BYTES,
      `cmd must be at most ${MAX_CMD_BYTES} bytes`,
    ),
  /**
   * Seconds; none by default. On expiry the process group is killed; the answer is 504, a background command has then
   * ended by SIGKILL.
   */
  timeout_seconds: timeoutSeconds('timeout_seconds'),
  /** The same under the name older clients use. */
  timeout: timeoutSeconds('timeout'),
  /** Absolute path; the user's home by default. */
  cwd: optional(withoutNul('cwd', 4095)),
  env,
  /** Name or numeric id; `root` by default. */
  user: optional(withoutNul('user', 64)),
  stdin: optional(text('stdin', MAX_STDIN_CHARS)),
  /** `POST exec` answers 201 at once, and the command outlives the connection: `…/execs/{exec_id}`. */
  background: optional(flag('background')),
})
export type ExecBody = z.infer<typeof execBody>

export const execResult = z.object({
  /** Invalid UTF-8 is replaced by U+FFFD. */
  stdout: z.string(),
  stderr: z.string(),
  /** 128 + signal when a signal ended it. */
  exit_code: z.int(),
  duration_ms: z.int(),
  /** There and true when either stream passed {@link MAX_OUTPUT_BYTES}. */
  truncated: z.literal(true).optional(),
})
export type ExecResult = z.infer<typeof execResult>

/** `data` of each event of `POST exec/stream`: `stdout` and `stderr` carry `chunk`, `exit` and `error` end the stream. */
export const execEvent = z.union([
  /** A chunk never splits a UTF-8 character; invalid UTF-8 is replaced by U+FFFD. */
  z.object({ chunk: z.string() }),
  /** 128 + signal when a signal ended it. */
  z.object({ exit_code: z.int(), duration_ms: z.int() }),
  /** Such as `command timeout after <n>s`. */
  z.object({ error: z.string() }),
])
