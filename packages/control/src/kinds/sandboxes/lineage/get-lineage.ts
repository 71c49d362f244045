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

function present(row: LineageRow): LineageNode {
  return {
    id: row.id,
    kind: row.kind,
    link: row.link,
    parent_id: row.parent_id,
    name: row.name,
    template: row.template,
    status: row.status,
    cpu: row.cpu,
    memory_mb: row.memory_mb,
    size_bytes: row.size_bytes,
    fork_tree_id: row.fork_tree_id,
    promoted: row.promoted,
    created_at: row.created_at.toISOString(),
    deleted_at: row.deleted_at?.toISOString() ?? null,
  }
}
