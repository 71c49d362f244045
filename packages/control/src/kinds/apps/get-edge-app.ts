import { EDGE_APPS_PATH, type EdgeApp } from '@offshoot/contract/edge-app'
import { ApiError } from '@offshoot/contract/errors'
import { isUuid } from '@offshoot/contract/ids'
import type { FastifyInstance } from 'fastify'
import type { AppsContext } from './model/apps-context.ts'
import { admitEdge } from '../../fleet/admit-edge.ts'
import { edgeApps } from './edge-app-statements.ts'

/** `GET /internal/apps/{id}`, for edges: where one app is served now. Not part of the public API. */
export function getEdgeApp(app: FastifyInstance, control: AppsContext): void {
  app.get(`${EDGE_APPS_PATH}/:id`, async (request): Promise<EdgeApp> => {
    await admitEdge(control, request)
    const { id } = request.params as { id: string }
    const [row] = isUuid(id) ? await edgeApps(control.database.pool, [id]) : []
    if (row === undefined) throw new ApiError('notFound')
    return row
  })
}
