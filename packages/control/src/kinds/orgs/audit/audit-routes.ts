import {
  type AuditEntry,
  auditEntry,
  auditExportQuery,
  auditQuery,
  type OperatedAuditEntry,
  operatedAuditEntry,
  operatedAuditExportQuery,
  operatedAuditQuery,
} from '@offshoot/contract/audit'
import { DEFAULT_LIST_LIMIT } from '@offshoot/contract/page'
import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import type { OrgsContext } from '../identity/orgs-context.ts'
import { callerOf } from '../../../platform/http/caller.ts'
import { parseWith } from '../../../platform/http/body.ts'
import { listPage } from '../../../platform/http/page-of.ts'
import { AUDIT_ORDER, auditConditions, presentEntry, presentOperatedEntry, SELECT_AUDIT } from './audit-query.ts'
import { EXPORT_COLUMNS, exportAudit } from './export-audit.ts'

const LIST = { order: AUDIT_ORDER, select: SELECT_AUDIT }
/** The media types of an export. */
const EXPORTED = {
  status: 200,
  mediaType: 'application/x-ndjson',
  also: [{ status: 200, mediaType: 'text/csv' }],
  errors: ['invalidField'],
} as const

/** `GET /v1/audit` and `…/export`: the actions on the caller's workspace, including those of operators. */
export function auditRoutes(app: FastifyInstance, control: OrgsContext): void {
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
      const { limit = DEFAULT_LIST_LIMIT, cursor, ...filter } = parseWith(auditQuery, request.query)
      const { workspaceId: owner } = callerOf(request)
      const where = auditConditions({ ...filter, workspace_id: owner })
      const rows = await listPage(control, request, reply, { ...LIST, owner, where, query: { limit, cursor } })
      return rows.map((row) => presentEntry(row))
    },
  })
  app.get('/v1/audit/export', {
    config: {
      credential: 'key-or-jwt',
      permission: 'audit:read',
      docs: { summary: 'Read all of it as one file, newest first', tag: 'Audit', query: auditExportQuery, ...EXPORTED },
    },
    handler: (request, reply) => {
      const { format, ...query } = parseWith(auditExportQuery, request.query)
      const filter = { ...query, workspace_id: callerOf(request).workspaceId }
      return exportAudit(control, request, reply, { filter, format, present: presentEntry, columns: EXPORT_COLUMNS })
    },
  })
}

/** `GET /v1/admin/audit` and `…/export`: the actions on all workspaces, and those that belong to none. */
export function operatedAuditRoutes(app: FastifyInstance, control: OrgsContext): void {
  app.get('/v1/admin/audit', {
    config: {
      credential: 'operator',
      operatorRole: 'viewer',
      docs: {
        summary: 'Read who did what in all workspaces, newest first',
        tag: 'Operators',
        query: operatedAuditQuery,
        status: 200,
        answer: z.array(operatedAuditEntry),
        errors: ['invalidField'],
      },
    },
    handler: async (request, reply): Promise<OperatedAuditEntry[]> => {
      const { limit = DEFAULT_LIST_LIMIT, cursor, ...filter } = parseWith(operatedAuditQuery, request.query)
      const where = auditConditions(filter)
      const rows = await listPage(control, request, reply, { ...LIST, owner: '', where, query: { limit, cursor } })
      return rows.map((row) => presentOperatedEntry(row))
    },
  })
  app.get('/v1/admin/audit/export', {
    config: {
      credential: 'operator',
      operatorRole: 'viewer',
      docs: {
        summary: 'Read the audit log of all workspaces as one file, newest first',
        tag: 'Operators',
        query: operatedAuditExportQuery,
        ...EXPORTED,
      },
    },
    handler: (request, reply) => {
      const { format, ...filter } = parseWith(operatedAuditExportQuery, request.query)
      const columns = ['workspace_id', 'actor_name', ...EXPORT_COLUMNS] as const
      return exportAudit(control, request, reply, { filter, format, present: presentOperatedEntry, columns })
    },
  })
}
