import { ApiError } from '@offshoot/contract/errors'
import { isUuid } from '@offshoot/contract/ids'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type Kysely, type RawBuilder, sql } from 'kysely'

/**
 * Keyset pages (docs/lists.md). A cursor contains the sort keys of the last row of a page, and the next page begins
 * after them. So an object that is created or deleted while a caller pages shifts no other object.
 */

type KeyValue = string | number | boolean

interface SortKey<Row> {
  /** A column or expression. Its value never changes. */
  readonly sql: string
  readonly type: 'timestamptz' | 'uuid' | 'text' | 'bigint' | 'boolean'
  readonly of: (row: Row) => Date | KeyValue
}

/** The order of a list. Together, the keys identify a row. */
export interface ListOrder<Row> {
  /** A list refuses the cursor of a list with another name. */
  readonly name: string
  readonly direction: 'asc' | 'desc'
  readonly keys: readonly SortKey<Row>[]
}

interface Dated {
  readonly created_at: Date
  readonly id: string
}

/** @param table the table or alias with the columns `created_at` and `id` */
export function newestFirst(name: string, table: string): ListOrder<Dated> {
  return {
    name,
    direction: 'desc',
    keys: [
      { sql: `${table}.created_at`, type: 'timestamptz', of: (row) => row.created_at },
      { sql: `${table}.id`, type: 'uuid', of: (row) => row.id },
    ],
  }
}

/** The other direction. Each direction refuses the cursors of the other. */
export function reversed<Row>(order: ListOrder<Row>): ListOrder<Row> {
  const direction = order.direction === 'asc' ? 'desc' : 'asc'
  return { ...order, name: `${order.name} ${direction}`, direction }
}

/** Identifies the list to which a cursor belongs. */
interface Listed<Row> {
  readonly order: ListOrder<Row>
  /** Id of the workspace, or of the object in the path. The list of another owner refuses the cursor. */
  readonly owner: string
}

interface PageQuery {
  /** Absent: all rows. */
  readonly limit?: number | undefined
  readonly cursor?: string | undefined
}

interface PagedQuery<Row> extends Listed<Row> {
  /** `select … from …`, without conditions. */
  readonly select: string
  readonly where: readonly RawBuilder<unknown>[]
  readonly query: PageQuery
}

interface Services {
  readonly config: { readonly public_url: string }
  readonly database: { readonly db: Kysely<never> }
}

/**
 * Reads one page, and links the next one in the header `Link`.
 * @throws ApiError 400 if the cursor belongs to another list
 */
export async function listPage<Row>(
  { config, database }: Services,
  request: FastifyRequest,
  reply: FastifyReply,
  { select, where, query: { limit, cursor }, ...listed }: PagedQuery<Row>,
): Promise<readonly Row[]> {
  const start = cursor === undefined ? [] : after(listed.order, decodeCursor(listed, cursor))
  // One row more than fits tells whether there is a next page.
  const rows = await rowsOf(database.db, listed.order, select, [...where, ...start], limit && limit + 1)
  return limit === undefined ? rows : cutPage(listed, rows, limit, config.public_url, request, reply)
}

/**
 * All rows of a list, in pages. No connection to the database is held while the caller uses a page, however long that
 * takes.
 */
export async function* allPages<Row>(
  db: Kysely<never>,
  { order, select, where }: Pick<PagedQuery<Row>, 'order' | 'select' | 'where'>,
  limit: number,
): AsyncGenerator<readonly Row[]> {
  let start: RawBuilder<unknown>[] = []
  for (;;) {
    const rows = await rowsOf(db, order, select, [...where, ...start], limit)
    yield rows
    const last = rows.at(-1)
    if (last === undefined || rows.length < limit) return
    start = after(
      order,
      order.keys.map((key) => key.of(last)),
    )
  }
}

async function rowsOf<Row>(
  db: Kysely<never>,
  { keys, direction }: ListOrder<Row>,
  select: string,
  where: readonly RawBuilder<unknown>[],
  limit: number | undefined,
): Promise<readonly Row[]> {
  const order = keys.map((key) => `${key.sql} ${direction}`).join(', ')
  const { rows } = await sql<Row>`${sql.raw(select)} where ${sql.join([sql`true`, ...where], sql` and `)}
    order by ${sql.raw(order)} ${limit === undefined ? sql`` : sql`limit ${limit}`}`.execute(db)
  return rows
}

/** Cuts a page from rows, of which there is one more if a next page exists. */
export function cutPage<Row>(
  listed: Listed<Row>,
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
    next.set('cursor', encodeCursor(listed, last))
    const [path] = request.url.split('?', 1)
    reply.header('link', `<${publicUrl}${path}?${next.toString()}>; rel="next"`)
  }
  return page
}

/** @param last the sort keys of the row before */
function after<Row>({ keys, direction }: ListOrder<Row>, last: readonly (Date | KeyValue)[]): RawBuilder<unknown>[] {
  const values = last.map((value, at) => sql`${value}::${sql.raw(keys[at]?.type ?? 'text')}`)
  const columns = sql.raw(keys.map((key) => key.sql).join(', '))
  return [sql`(${columns}) ${sql.raw(direction === 'asc' ? '>' : '<')} (${sql.join(values)})`]
}

function encodeCursor<Row>({ order, owner }: Listed<Row>, row: Row): string {
  const values = order.keys.map((key) => key.of(row))
  return Buffer.from(JSON.stringify([order.name, owner, ...values])).toString('base64url')
}

/**
 * The values of the sort keys. Callers must not build cursors themselves, so this accepts only the output of
 * {@link encodeCursor}.
 */
export function decodeCursor<Row>({ order, owner }: Listed<Row>, cursor: string): readonly KeyValue[] {
  const [name, of, ...values] = parseArray(cursor)
  const isOurs = name === order.name && of === owner && values.length === order.keys.length
  if (!isOurs || !order.keys.every(({ type }, at) => IS_VALUE[type](values[at]))) {
    throw new ApiError('invalidField', { error: 'cursor is not one this list gave out' })
  }
  return values as KeyValue[]
}

function parseArray(cursor: string): readonly unknown[] {
  try {
    const parsed: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString())
    return Array.isArray(parsed) ? parsed : []
  } catch {
    return []
  }
}

/** A value that PostgreSQL cannot read as the key's type would be a server error. */
const IS_VALUE: Record<SortKey<never>['type'], (value: unknown) => boolean> = {
  timestamptz: (value) => typeof value === 'string' && /^(?!0000)\d{4}-/.test(value) && isIsoTime(value),
  uuid: (value) => typeof value === 'string' && isUuid(value),
  text: isStorable,
  bigint: Number.isSafeInteger,
  boolean: (value) => typeof value === 'boolean',
}

function isIsoTime(text: string): boolean {
  const time = new Date(text)
  return !Number.isNaN(time.getTime()) && time.toISOString() === text
}

/** PostgreSQL cannot store NUL or half a surrogate pair in a text. */
function isStorable(value: unknown): boolean {
  return typeof value === 'string' && !value.includes('\0') && value.isWellFormed()
}

/** A filter: an absent value filters nothing, and a value that PostgreSQL cannot store matches nothing. */
export function equals(column: string, value: KeyValue | undefined): RawBuilder<unknown>[] {
  if (value === undefined) return []
  return typeof value !== 'string' || isStorable(value) ? [sql`${sql.raw(column)} = ${value}`] : [sql`false`]
}

/** The same for any of several values, which PostgreSQL can store. */
export function isAnyOf(column: string, values: readonly string[] | undefined): RawBuilder<unknown>[] {
  return values === undefined ? [] : [sql`${sql.raw(column)} = any(${values})`]
}

/** The same for a column of type uuid, which no other text equals. */
export function equalsId(column: string, value: string | undefined): RawBuilder<unknown>[] {
  return value === undefined || isUuid(value) ? equals(column, value) : [sql`false`]
}

/** The same for tags: the column contains all of them. */
export function hasTags(column: string, tags: Readonly<Record<string, string>>): RawBuilder<unknown>[] {
  const texts = Object.entries(tags).flat()
  if (texts.length === 0) return []
  return texts.every(isStorable) ? [sql`${sql.raw(column)} @> ${JSON.stringify(tags)}::jsonb`] : [sql`false`]
}

export function createdBetween(
  column: string,
  {
    created_after: from,
    created_before: to,
  }: { created_after?: string | undefined; created_before?: string | undefined },
): RawBuilder<unknown>[] {
  return [
    ...(from === undefined ? [] : [sql`${sql.raw(column)} > ${from}::timestamptz`]),
    ...(to === undefined ? [] : [sql`${sql.raw(column)} < ${to}::timestamptz`]),
  ]
}
