import { z } from 'zod'
import { optional, text } from './fields.ts'

/** Languages of `GET lsp/{lang}`. The template `base` has a server for each. */
export const LANGUAGES = ['python', 'typescript', 'javascript', 'json', 'html', 'css', 'bash'] as const
export type Language = (typeof LANGUAGES)[number]

/** Answer of `GET /v1/lsp/languages`. */
export const languages = z.array(z.enum(LANGUAGES))

/** Path parameters of `GET lsp/{lang}`. */
export const lspPath = z.object({ lang: z.enum(LANGUAGES) })

/** Query of `GET lsp/{lang}`. */
export const lspQuery = z.object({
  /**
   * Absolute path of the server's working directory. Default: the user's home. The client names its workspace in
   * `initialize`.
   */
  cwd: optional(text('cwd', 4095)),
  /** User name or numeric id. Default: `root`. */
  user: optional(text('user', 64)),
})
export type LspQuery = z.infer<typeof lspQuery>

/** Maximum bytes of one message in either direction. A larger one ends the session. */
export const MAX_LSP_MESSAGE_BYTES = 16 * 1024 * 1024

/** WebSocket close codes of a session, beside 1000 (the server ended) and 1012 (reconnect). */
export const LspClose = {
  /** The client's first frame is neither a header nor a JSON message, or one of its headers is malformed. */
  badFraming: 1007,
  /** The client's message is larger than {@link MAX_LSP_MESSAGE_BYTES}. */
  tooLarge: 1009,
  /** The server's output is not base protocol, or the connection to the guest is lost. */
  serverBroken: 1011,
} as const
