import { DEFAULT_LIST_LIMIT } from '@offshoot/contract/page'
import { snapshot, snapshotListQuery } from '@offshoot/contract/snapshot'
import type { FastifyInstance } from 'fastify'
import { sql } from 'kysely'
import { z } from 'zod'
import type { SandboxesContext } from '../model/sandboxes-context.ts'
import { callerOf } from '../../../platform/http/caller.ts'
import { parseWith } from '../../../platform/http/body.ts'
import {
  createdBetween,
  equals,
  equalsId,
  type ListOrder,
  listPage,
  newestFirst,
} from '../../../platform/http/page-of.ts'
import { presentSnapshot, SNAPSHOT_COLUMNS, type SnapshotRow } from './snapshot-row.ts'

const ORDER: ListOrder<SnapshotRow> = newestFirst('snapshots', 'snapshots')

/**
 * `GET /v1/snapshots`: the snapshots that users of the workspace have taken, a page, newest first. The next page is in
 * `Link: <…>; rel="next"`.
 */
export function getSnapshots(app: FastifyInstance, control: SandboxesContext): void {
  app.get('/v1/snapshots', {
    config: {
      credential: 'key-or-jwt',
      docs: {
        summary: 'List snapshots, newest first',
        tag: 'Snapshots',
        query: snapshotListQuery,
        status: 200,
        answer: z.array(snapshot),
        errors: ['invalidField'],
      },
    },
    handler: async (request, reply) => {
      const { limit = DEFAULT_LIST_LIMIT, ...query } = parseWith(snapshotListQuery, request.query)
      const { workspaceId } = callerOf(request)
      const rows = await listPage(control, request, reply, {
        order: ORDER,
        owner: workspaceId,
        select: `select ${SNAPSHOT_COLUMNS} from snapshots`,
        where: [
          sql`workspace_id = ${workspaceId} and origin = 'user' and status = 'ready'`,
          ...equals('name', query.name),
          ...equalsId('sandbox_id', query.sandbox_id),
          ...equals('template', query.template),
          ...createdBetween('created_at', query),
        ],
        query: { ...query, limit },
      })
      return rows.map(presentSnapshot)
    },
  })
}
