import { z } from 'zod'
import { optional, text } from './fields.ts'

/** Languages of `GET lsp/{lang}`, each with a server in the template `base`. */
export const LANGUAGES = ['python', 'typescript', 'javascript', 'json', 'html', 'css', 'bash'] as const
export type Language = (typeof LANGUAGES)[number]

/** Answer of `GET /v1/lsp/languages`. */
export const languages = z.array(z.enum(LANGUAGES))

/** Path parameters of `GET lsp/{lang}`. */
export const lspPath = z.object({ lang: z.enum(LANGUAGES) })

/** Query of `GET lsp/{lang}`. */
export const lspQuery = z.object({
  /** Absolute path where the server runs; the user's home by default. What it looks at, its client says in `initialize`. */
  cwd: optional(text('cwd', 4095)),
  /** Name or numeric id; `root` by default. */
  user: optional(text('user', 64)),
})
export type LspQuery = z.infer<typeof lspQuery>

/** Bytes of one message, either way. A greater one ends the session. */
export const MAX_LSP_MESSAGE_BYTES = 16 * 1024 * 1024

/** Why a session is closed, beside 1000 (the server has ended) and 1012 (connect again). */
export const LspClose = {
  /** The client's first frame is neither a header nor a JSON message, or a header of its is broken. */
  badFraming: 1007,
  /** The client's message is greater than {@link MAX_LSP_MESSAGE_BYTES}. */
  tooLarge: 1009,
  /** The server or its guest: what it wrote is no base protocol, or it is gone. */
  serverBroken: 1011,
} as const
