import { isUuid } from '@offshoot/contract/ids'
import { DEFAULT_LIST_LIMIT } from '@offshoot/contract/page'
import { snapshot, snapshotListQuery } from '@offshoot/contract/snapshot'
import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import type { SandboxesContext } from '../sandboxes-context.ts'
import { callerOf } from '../../../platform/http/caller.ts'
import { parseWith } from '../../../platform/http/body.ts'
import { pageOf } from '../../../platform/http/page-of.ts'
import { listSnapshots } from './list-snapshots-query.ts'
import { presentSnapshot } from './snapshot-row.ts'

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
      const parameters = parseWith(snapshotListQuery, request.query)
      const { sandbox_id: sandboxId, limit = DEFAULT_LIST_LIMIT, cursor } = parameters
      if (sandboxId !== undefined && !isUuid(sandboxId)) return []
      const { workspaceId } = callerOf(request)
      const rows = await listSnapshots(control.database.db, workspaceId, { sandboxId, limit, cursor })
      return pageOf(rows, limit, control.config.public_url, request, reply).map(presentSnapshot)
    },
  })
}
