import { Readable } from 'node:stream'
import type { AuditEntry, AuditFilter } from '@offshoot/contract/audit'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { runFor } from '../../../platform/db/tenant-pool.ts'
import { allPages } from '../../../platform/http/page-of.ts'
import type { OrgsContext } from '../identity/orgs-context.ts'
import { AUDIT_ORDER, auditConditions, type AuditRow, SELECT_AUDIT } from './audit-query.ts'

/** Entries that control reads at once. It reads more only when the caller has taken these. */
const PAGE_ROWS = 500
const MEDIA_TYPES = { ndjson: 'application/x-ndjson', csv: 'text/csv; charset=utf-8; header=present' } as const

interface Exported {
  readonly filter: AuditFilter
  readonly format: keyof typeof MEDIA_TYPES | undefined
  readonly present: (row: AuditRow) => AuditEntry
  /** The columns of CSV. */
  readonly columns: readonly (keyof AuditRow)[]
}

/** The columns of an export of one workspace. */
export const EXPORT_COLUMNS = [
  'id',
  'created_at',
  'actor_type',
  'actor_id',
  'action',
  'target_kind',
  'target',
  'ip',
  'request_id',
  'details',
] as const satisfies readonly (keyof AuditRow)[]

/** Streams all entries that the filter finds, newest first. If the database fails, the connection breaks. */
export function exportAudit(
  { database, openStreams }: OrgsContext,
  request: FastifyRequest,
  reply: FastifyReply,
  { filter, format = 'ndjson', present, columns }: Exported,
): FastifyReply {
  const { tenancy } = request
  const pages = allPages(
    database.db,
    { order: AUDIT_ORDER, select: SELECT_AUDIT, where: auditConditions(filter) },
    PAGE_ROWS,
  )
  // The stream reads a page when the socket has drained, which is outside of the request's context.
  const nextPage = () => (tenancy === null ? pages.next() : runFor(tenancy, () => pages.next()))
  const toLine = (row: AuditRow) =>
    format === 'csv' ? csvLine(columns.map((column) => cellOf(row[column]))) : `${JSON.stringify(present(row))}\n`
  async function* lines() {
    if (format === 'csv') yield csvLine(columns)
    for (let page = await nextPage(); page.done !== true; page = await nextPage()) {
      yield page.value.map((row) => toLine(row)).join('')
    }
  }
  const stream = Readable.from(lines(), { highWaterMark: 1 })
  const forget = openStreams.add(() => stream.destroy(new Error('the process stops')))
  stream.once('close', forget)
  return reply
    .header('content-type', MEDIA_TYPES[format])
    .header('content-disposition', `attachment; filename="audit.${format}"`)
    .header('cache-control', 'no-store')
    .send(stream)
}

function cellOf(value: AuditRow[keyof AuditRow]): string {
  if (value instanceof Date) return value.toISOString()
  return typeof value === 'string' ? value : value === null ? '' : JSON.stringify(value)
}

/** Spreadsheets run a cell that begins with one of these as a formula. Some of them accept the wide forms, too. */
const FORMULA = /^[=+\-@\t\r\n＝＋－＠]/

/** RFC 4180. An apostrophe before a formula makes it a text. */
function csvLine(cells: readonly string[]): string {
  const quoted = cells.map((cell) => {
    const safe = FORMULA.test(cell) ? `'${cell}` : cell
    return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
  })
  return `${quoted.join(',')}\r\n`
}
