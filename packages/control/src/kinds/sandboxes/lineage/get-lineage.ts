import { ApiError } from '@offshoot/contract/errors'
import { parseSandboxId } from '@offshoot/contract/ids'
import { lineage, type Lineage, type LineageNode, MAX_LINEAGE_NODES } from '@offshoot/contract/lineage'
import type { FastifyInstance } from 'fastify'
import { callerOf } from '../../../platform/http/caller.ts'
import type { SandboxesContext } from '../model/sandboxes-context.ts'
import { type LineageRow, lineageOfSandbox } from './lineage-statements.ts'

/** `GET /v1/sandboxes/{id}/lineage`: the tree of a sandbox, which may be deleted. Wakes nothing. */
export function getLineage(app: FastifyInstance, { database: { pool } }: SandboxesContext): void {
  app.get('/v1/sandboxes/:id/lineage', {
    config: {
      credential: 'key-or-jwt',
      docs: {
        summary: 'Read the tree to which a sandbox belongs, with what is deleted',
        tag: 'Sandboxes',
        status: 200,
        answer: lineage,
        errors: ['notFound'],
      },
    },
    handler: async (request): Promise<Lineage> => {
      const id = parseSandboxId((request.params as { id: string }).id)
      const rows = id === null ? [] : await lineageOfSandbox(pool, id, callerOf(request).workspaceId)
      const [first] = rows
      if (first === undefined) throw new ApiError('notFound')
      const nodes = rows.slice(0, MAX_LINEAGE_NODES).map(present)
      return { root_id: first.root_id, nodes, truncated: rows.length > nodes.length }
    },
  })
}

function present({ root_id: _, status, created_at: createdAt, deleted_at: deletedAt, ...row }: LineageRow): LineageNode {
  return {
    ...row,
    status: status as LineageNode['status'],
    created_at: createdAt.toISOString(),
    deleted_at: deletedAt?.toISOString() ?? null,
  }
}
