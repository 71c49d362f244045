import { z } from 'zod'
import { env } from './env.ts'
import { integer, optional, requiredText, text } from './fields.ts'

/** The TCP port of the code interpreter in a sandbox, the same as in E2B's sandboxes. */
export const CODE_PORT = 49_999

/** Languages of contexts. */
export const CODE_LANGUAGES = ['python', 'javascript', 'typescript', 'bash'] as const

/** Maximum characters of the code of one execution. */
const MAX_CODE_CHARS = 512 * 1024

/** Ids that the guest makes. */
const CONTEXT_ID = /^[A-Za-z0-9_-]{1,64}$/

const language = z.enum(CODE_LANGUAGES, { error: `language must be one of ${CODE_LANGUAGES.join(', ')}` })

/** Body of `POST /v1/sandboxes/{id}/code`. */
export const codeBody = z
  .object({
    /** Runs as if it were typed into an interpreter: variables stay, and the value of the last expression is a result. */
    code: requiredText('code', MAX_CODE_CHARS),
    /** Runs the code in the default context of this language. Default: `python`. Excludes `context_id`. */
    language: optional(language),
    /** Runs the code in this context. */
    context_id: optional(text('context_id', 64).regex(CONTEXT_ID, 'context_id must be the id of a context')),
    /** Variables of this execution only. */
    env,
    /**
     * Seconds, 1 to 86400, with the time in the queue of the context; no timeout by default. At the timeout the agent
     * interrupts the code and sends the event `error`.
     */
    timeout_seconds: optional(integer('timeout_seconds', 1, 86_400)),
  })
  .refine(
    ({ language: named, context_id: id }) => named === undefined || id === undefined,
    'language and context_id exclude each other',
  )
export type CodeBody = z.infer<typeof codeBody>

/** One result: its representations by kind. Binary ones are base64. */
export const codeResult = z.object({
  /** True for the value of the last expression, false for what the code has displayed. */
  is_main_result: z.boolean(),
  text: z.string().optional(),
  html: z.string().optional(),
  markdown: z.string().optional(),
  svg: z.string().optional(),
  png: z.string().optional(),
  jpeg: z.string().optional(),
  pdf: z.string().optional(),
  latex: z.string().optional(),
  json: z.unknown().optional(),
  javascript: z.string().optional(),
  /** The columns of a pandas table. */
  data: z.record(z.string(), z.unknown()).optional(),
  /** The content of a simple Matplotlib chart. */
  chart: z.record(z.string(), z.unknown()).optional(),
  /** Representations of other MIME types. */
  extra: z.record(z.string(), z.unknown()).optional(),
})
export type CodeResult = z.infer<typeof codeResult>

/** An exception that the code did not catch. `end` follows. */
export const codeError = z.object({
  /** Type of the exception, or `KernelDied`, `KernelRestarted`, `Interrupted`, `ExitCode`. */
  name: z.string(),
  value: z.string(),
  traceback: z.string(),
})

/**
 * `data` of each event of `POST code`. `stdout` and `stderr` carry `chunk`, `result` a result, `error` an exception.
 * `end` is the last event. An event `error` with the field `error` ends the stream too: the execution was lost or timed
 * out.
 */
export const codeEvent = z.union([
  z.object({ chunk: z.string() }),
  codeResult,
  codeError,
  z.object({
    /** Executions of the context since its process started, with this one. */
    execution_count: z.int(),
    duration_ms: z.int(),
  }),
  /** E.g. `code timeout after <n>s`. */
  z.object({ error: z.string() }),
])

/** Body of `POST /v1/sandboxes/{id}/code/contexts`. */
export const newCodeContext = z.object({
  /** Default: `python`. */
  language: optional(language),
  /** Absolute path of a folder. Default: the user's home. */
  cwd: optional(
    text('cwd', 4095)
      .startsWith('/', 'cwd must be an absolute path')
      .refine((value) => !value.includes('\0'), 'cwd must not contain NUL'),
  ),
})

/** A context: a process that keeps its state from one execution to the next. */
export const codeContext = z.object({
  /** The name of the language for its default context. */
  id: z.string().regex(CONTEXT_ID),
  language: z.enum(CODE_LANGUAGES),
  cwd: z.string().max(4095),
})
export type CodeContext = z.infer<typeof codeContext>
