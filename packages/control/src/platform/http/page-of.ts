import type { Page } from '@offshoot/contract/page'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type RawBuilder, sql } from 'kysely'
import { decodeCursor, encodeCursor } from './cursor.ts'

/**
 * The SQL conditions of a page, keyed by (created_at, id), newest first; none for the first page. An object that is
 * created while a caller pages appears before the first page and shifts nothing.
 */
export function pageConditions({ cursor }: Page): RawBuilder<unknown>[] {
  if (cursor === undefined) return []
  const after = decodeCursor(cursor)
  return [sql`(created_at, id) < (${after.createdAt}::timestamptz, ${after.id}::uuid)`]
}

/**
 * Builds a page from the rows of a list query. The query asks for one row more than fits; that row tells whether to
 * link a next page.
 */
export function pageOf<Row extends { readonly created_at: Date; readonly id: string }>(
  rows: readonly Row[],
  limit: number,
  publicUrl: string,
  request: FastifyRequest,
  reply: FastifyReply,
): readonly Row[] {
  const page = rows.slice(0, limit)
  const last = page.at(-1)
  if (rows.length > page.length && last !== undefined) {
    const next = new URLSearchParams(request.query as Record<string, string>)
    next.set('cursor', encodeCursor(last))
    const [path] = request.url.split('?', 1)
    reply.header('link', `<${publicUrl}${path}?${next.toString()}>; rel="next"`)
  }
  return page
}
