import type { Page } from '@offshoot/contract/page'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type RawBuilder, sql } from 'kysely'
import { decodeCursor, encodeCursor } from './cursor.ts'

/**
 * The condition of a page by the key (created_at, id), newest first: what is created while a caller turns pages lands
 * before the first of them and moves nothing. None for the first page.
 */
export function pageConditions({ cursor }: Page): RawBuilder<unknown>[] {
  if (cursor === undefined) return []
  const after = decodeCursor(cursor)
  return [sql`(created_at, id) < (${after.createdAt}::timestamptz, ${after.id}::uuid)`]
}

/**
 * The page out of what a list query gave, which asks for one entry more than fits: that tells whether there is a next
 * page, and it is then linked to.
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
