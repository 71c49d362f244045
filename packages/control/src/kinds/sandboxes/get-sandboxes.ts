import { ApiError } from '@offshoot/contract/errors'
import { DEFAULT_LIST_LIMIT } from '@offshoot/contract/page'
import { sandbox } from '@offshoot/contract/sandbox'
import { type SandboxListQuery, sandboxListQuery } from '@offshoot/contract/sandbox-list'
import type { FastifyInstance } from 'fastify'
import { sql } from 'kysely'
import { z } from 'zod'
import type { SandboxesContext } from './model/sandboxes-context.ts'
import { callerOf } from '../../platform/http/caller.ts'
import { parseWith } from '../../platform/http/body.ts'
import {
  createdBetween,
  equals,
  hasTags,
  isAnyOf,
  type ListOrder,
  listPage,
  newestFirst,
  reversed,
} from '../../platform/http/page-of.ts'
import { presentSandbox, sandboxColumns, type SandboxRow, VISIBLE_TO_TENANTS } from '../../fleet/sandbox-row.ts'

const METADATA = 'metadata.'
const NEWEST_FIRST: ListOrder<SandboxRow> = newestFirst('sandboxes', 'sandboxes')
const OLDEST_FIRST = reversed(NEWEST_FIRST)

/** `GET /v1/sandboxes`: a page, newest first or with `order=asc` oldest first. The next page is in `Link: <…>; rel="next"`. */
export function getSandboxes(app: FastifyInstance, control: SandboxesContext): void {
  app.get('/v1/sandboxes', {
    config: {
      credential: 'key-or-jwt',
      docs: {
        summary:
          'List sandboxes, newest first unless order says otherwise; with metadata.KEY=VALUE those that have the tag',
        tag: 'Sandboxes',
        query: sandboxListQuery,
        status: 200,
        answer: z.array(sandbox),
        errors: ['invalidField'],
      },
    },
    handler: async (request, reply) => {
      const query = readQuery(request.query as Record<string, unknown>)
      const { workspaceId } = callerOf(request)
      const rows = await listPage(control, request, reply, {
        order: query.order === 'asc' ? OLDEST_FIRST : NEWEST_FIRST,
        owner: workspaceId,
        select: `select ${sandboxColumns()} from sandboxes`,
        where: [
          sql`workspace_id = ${workspaceId}`,
          sql.raw(VISIBLE_TO_TENANTS),
          ...equals('template', query.template),
          ...isAnyOf('status', query.status),
          ...hasTags('metadata', query.metadata),
          ...createdBetween('created_at', query),
        ],
        query,
      })
      return rows.map(presentSandbox)
    },
  })
}

function readQuery(parameters: Record<string, unknown>): SandboxListQuery {
  const { limit = DEFAULT_LIST_LIMIT, ...query } = parseWith(sandboxListQuery, parameters)
  const metadata: Record<string, string> = {}
  for (const [name, value] of Object.entries(parameters)) {
    if (!name.startsWith(METADATA)) continue
    if (typeof value !== 'string') throw new ApiError('invalidField', { error: `${name} must be given once` })
    metadata[name.slice(METADATA.length)] = value
  }
  return { ...query, limit, metadata }
}
