import { z } from 'zod'
import { integer, optional, text } from './fields.ts'
import { createdQuery } from './page.ts'

/** Maximum unexpired links of one port of a sandbox, and of one app. */
export const MAX_PREVIEW_LINKS = 100
/** Default lifetime of a link in seconds: a day. */
export const DEFAULT_LINK_SECONDS = 86_400
/** A year. */
const MAX_LINK_SECONDS = 31_536_000

/** Body of `POST /v1/sandboxes/{id}/ports/{port}/links` and `POST /v1/apps/{id}/links`. */
export const previewLinkBody = z.object({
  /** Default: a day. At most a year. */
  expires_in_seconds: optional(integer('expires_in_seconds', 1, MAX_LINK_SECONDS)),
  /** For the owner: whom the link is for. */
  label: optional(text('label', 128)),
})
export type PreviewLinkBody = z.infer<typeof previewLinkBody>

/** A link that opens a private preview, without its token. */
export const previewLink = z.object({
  id: z.string(),
  /** The port of the sandbox; `null` for a link to an app. */
  port: z.int().nullable(),
  label: z.string().nullable(),
  /** RFC 3339, UTC, milliseconds. */
  created_at: z.string(),
  expires_at: z.string(),
})
export type PreviewLink = z.infer<typeof previewLink>

/** A new link. No other answer contains its token. */
export const createdPreviewLink = previewLink.extend({
  /** For a browser. Whoever opens it may use the preview until the link expires or is deleted. */
  url: z.string(),
  /** For a program: the value of the header `X-Offshoot-Preview-Token`. */
  token: z.string(),
})
export type CreatedPreviewLink = z.infer<typeof createdPreviewLink>

/** Query of the lists of links. */
export const previewLinkListQuery = createdQuery
