import { type AuditEntry, auditEntry, auditQuery } from '@offshoot/contract/audit'
import { DEFAULT_LIST_LIMIT } from '@offshoot/contract/page'
import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import type { OrgsContext } from '../orgs-context.ts'
import { callerOf } from '../../../platform/http/caller.ts'
import { parseWith } from '../../../platform/http/body.ts'
import { pageOf } from '../../../platform/http/page-of.ts'
import { type AuditRow, listAudit } from './audit-query.ts'

/** `GET /v1/audit`: the actions on the caller's workspace with actor and address, including those of operators. */
export function getAudit(app: FastifyInstance, { config, database }: OrgsContext): void {
  app.get('/v1/audit', {
    config: {
      credential: 'key-or-jwt',
      permission: 'audit:read',
      docs: {
        summary: 'Read who did what, newest first',
        tag: 'Audit',
        query: auditQuery,
        status: 200,
        answer: z.array(auditEntry),
        errors: ['invalidField'],
      },
    },
    handler: async (request, reply): Promise<AuditEntry[]> => {
      const { limit = DEFAULT_LIST_LIMIT, cursor, action, from, to } = parseWith(auditQuery, request.query)
      const rows = await listAudit(database.db, callerOf(request).workspaceId, { limit, cursor, action, from, to })
      return pageOf(rows, limit, config.public_url, request, reply).map(present)
    },
  })
}

function present({ actor_type: type, actor_id: id, created_at, ...entry }: AuditRow): AuditEntry {
  return { ...entry, created_at: created_at.toISOString(), actor: { type, id } }
}
