import { ApiError } from '@offshoot/contract/errors'
import { isUuid } from '@offshoot/contract/ids'

/** The last entry of a page in a list ordered by (created_at, id). */
export interface Cursor {
  /** RFC 3339, UTC, in milliseconds: the full precision of `created_at`. */
  readonly createdAt: string
  readonly id: string
}

export function encodeCursor(row: { readonly created_at: Date; readonly id: string }): string {
  return Buffer.from(`${row.created_at.toISOString()}/${row.id}`).toString('base64url')
}

/** The cursor is opaque to callers, so it accepts only the output of {@link encodeCursor}. */
export function decodeCursor(text: string): Cursor {
  const [createdAt = '', id = '', ...rest] = Buffer.from(text, 'base64url').toString('latin1').split('/')
  const time = new Date(createdAt)
  if (rest.length > 0 || !isUuid(id) || Number.isNaN(time.getTime()) || time.toISOString() !== createdAt) {
    throw new ApiError('invalidField', { error: 'cursor is not one this list gave out' })
  }
  return { createdAt, id }
}
