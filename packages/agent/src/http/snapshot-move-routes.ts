import type { AgentSnapshot } from '@offshoot/contract/agent-api'
import { type AgentSnapshotContent, NO_SNAPSHOT, snapshotExportQuery } from '@offshoot/contract/agent-move'
import { ApiError } from '@offshoot/contract/errors'
import { parseSnapshotId, type SnapshotId } from '@offshoot/contract/ids'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Agent } from '../sandbox/agent.ts'
import { exportSnapshot, snapshotContent } from '../sandbox/moves/export-snapshot.ts'
import { importSnapshot } from '../sandbox/moves/import-snapshot.ts'
import { showSnapshot, type SnapshotRecord } from '../store/snapshots/snapshot-record.ts'
import { parseQuery } from './request/parse-query.ts'
import { receiveImport, sendExport, withStreamBodies } from './move-streams.ts'

/**
 * `GET /v1/snapshots/{id}/content`, `GET …/export` and `PUT …/import`: another host gets the snapshot
 * (docs/internal-api.md).
 */
export function snapshotMoveRoutes(server: FastifyInstance, { host, stopping }: Agent): void {
  const find = async (request: FastifyRequest): Promise<SnapshotRecord> => {
    if (stopping.aborted) throw new ApiError('shuttingDown')
    const record = await host.store.snapshots.find(idOf(request), request.caller.workspaceId)
    if (record === null) throw new ApiError('notFound', { detail: NO_SNAPSHOT })
    return record
  }
  server.get('/v1/snapshots/:id/content', async (request): Promise<AgentSnapshotContent> => {
    return snapshotContent(host, await find(request))
  })
  server.get('/v1/snapshots/:id/export', async (request, reply) => {
    const asked = parseQuery(snapshotExportQuery, request)
    const stream = await exportSnapshot(host, await find(request), asked)
    return sendExport(reply, stream, stopping, asked.only)
  })
  withStreamBodies(server, (scope) => {
    scope.put('/v1/snapshots/:id/import', async (request): Promise<AgentSnapshot> => {
      const id = idOf(request)
      const record = await receiveImport(request, stopping, (body, workspaceId) =>
        importSnapshot(host, { id, workspaceId }, body),
      )
      return showSnapshot(record)
    })
  })
}

function idOf({ params }: FastifyRequest): SnapshotId {
  const id = parseSnapshotId((params as { id: string }).id)
  if (id === null) throw new ApiError('notFound', { detail: NO_SNAPSHOT })
  return id
}
