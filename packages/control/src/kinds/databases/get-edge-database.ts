import { EDGE_DATABASES_PATH, type EdgeDatabase } from '@offshoot/contract/edge-database'
import { ApiError } from '@offshoot/contract/errors'
import { parseSandboxId } from '@offshoot/contract/ids'
import type { FastifyInstance } from 'fastify'
import { admitEdge } from '../../fleet/admit-edge.ts'
import type { DatabasesContext } from './databases-context.ts'
import { databaseForEdges } from './recovery-statements.ts'

/** `GET /internal/databases/{id}`, for edges (contract/edge-database.ts). Not part of the public API. */
export function getEdgeDatabase(app: FastifyInstance, control: DatabasesContext): void {
  app.get(`${EDGE_DATABASES_PATH}/:id`, async (request): Promise<EdgeDatabase> => {
    await admitEdge(control, request)
    const id = parseSandboxId((request.params as { id: string }).id)
    const [row] = id === null ? [] : await databaseForEdges(control.database.pool, id)
    if (row === undefined) throw new ApiError('notFound')
    return row
  })
}
