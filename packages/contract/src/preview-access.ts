import { z } from 'zod'

/*
 * How the edge admits a visitor to a private preview (docs/adr/0038-private-previews.md). The routes below are control's,
 * for edges, authorized by the edge's own credential.
 */

/** `POST` {@link previewChecks} → 200 {@link previewAnswers}. */
export const PREVIEW_CHECKS_PATH = '/internal/previews/checks'
/** `POST` {@link previewPassBody} → 200 {@link previewPass}; 404 if the token or the code opens nothing there. */
export const PREVIEW_PASSES_PATH = '/internal/previews/passes'
/**
 * Control's page for browsers: it looks at the session, and sends the browser back to the preview with a code. Query:
 * `to`, the visited address, and `state`.
 */
export const PREVIEW_ENTRY_PATH = '/previews/enter'
/** The edge's path on every private preview host, to which control sends a browser with `code`, `state` and `to`. */
export const PREVIEW_RETURN_PATH = '/.offshoot/preview'

/** Begins the token of a link. */
export const LINK_TOKEN = 'ofl_'
/** The query parameter of a link's address. */
export const PREVIEW_TOKEN_QUERY = 'offshoot_token'
/** A link's token, or an API key of the workspace. */
export const PREVIEW_TOKEN_HEADER = 'x-offshoot-preview-token'
/** The edge's cookie on a private preview host. With TLS its name begins with `__Host-`. */
export const PREVIEW_COOKIE = 'offshoot-preview'

/** Maximum checks in one request. */
export const MAX_PREVIEW_CHECKS = 100
/** Longer than every credential: a pass is a JWT with an origin of at most 270 characters. */
export const MAX_PREVIEW_CREDENTIAL_CHARS = 2_048

const credential = z.string().min(1).max(MAX_PREVIEW_CREDENTIAL_CHARS)
/** Scheme, host and port of the preview, as its visitor sees them, in lower case. */
const origin = z.string().min(1).max(300)

/** What a visitor wants to open. */
export const previewSubject = z.union([
  z.object({ sandbox_id: z.uuid(), port: z.int().min(1).max(65_535) }),
  z.object({ app_id: z.uuid() }),
])
export type PreviewSubject = z.infer<typeof previewSubject>

/** `credential`: a link's token, an API key, or a pass that control has given out for this origin. */
export const previewCheck = z.object({ origin, subject: previewSubject, credential })
export type PreviewCheck = z.infer<typeof previewCheck>

export const previewChecks = z.object({ checks: z.array(previewCheck).min(1).max(MAX_PREVIEW_CHECKS) })
export type PreviewChecks = z.infer<typeof previewChecks>

/** Whether each credential opens its subject now, in the order of the checks. */
export const previewAnswers = z.object({ admitted: z.array(z.boolean()) })
export type PreviewAnswers = z.infer<typeof previewAnswers>

/** A link's token, or the code of a member whose browser holds `state` for this origin. */
export const previewPassBody = z.union([
  z.object({ origin, subject: previewSubject, token: credential }),
  z.object({ origin, subject: previewSubject, code: credential, state: z.string().max(128) }),
])
export type PreviewPassBody = z.infer<typeof previewPassBody>

/** The value of the visitor's cookie. */
export const previewPass = z.object({ pass: z.string(), max_age_seconds: z.int() })
export type PreviewPass = z.infer<typeof previewPass>
