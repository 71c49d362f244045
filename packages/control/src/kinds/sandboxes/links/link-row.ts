import type { PreviewLink } from '@offshoot/contract/preview-link'

/** A row of `preview_links`, without the hash of its token. */
export interface LinkRow {
  readonly id: string
  /** `null` for a link to an app. */
  readonly port: number | null
  readonly label: string | null
  readonly created_at: Date
  readonly expires_at: Date
}

/** The select list of a {@link LinkRow}. */
export const LINK_COLUMNS = 'id, port, label, created_at, expires_at'

/** What a link opens: one port of a sandbox, or all addresses of an app. */
export type LinkSubject =
  | { readonly sandboxId: string; readonly port: number; readonly appId: null }
  | { readonly sandboxId: null; readonly port: null; readonly appId: string }

export function presentLink(row: LinkRow): PreviewLink {
  return {
    id: row.id,
    port: row.port,
    label: row.label,
    created_at: row.created_at.toISOString(),
    expires_at: row.expires_at.toISOString(),
  }
}
