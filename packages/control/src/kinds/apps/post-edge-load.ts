import { EDGE_LOAD_PATH, edgeLoad } from '@offshoot/contract/edge-app'
import type { FastifyInstance } from 'fastify'
import type { AppsContext } from './model/apps-context.ts'
import { parseBody } from '../../platform/http/body.ts'
import { scaleOut } from './instances/scale-out.ts'
import { admitEdge } from '../../fleet/admit-edge.ts'

/** `POST /internal/apps/load`, for edges: how many instances their load needs. Not part of the public API. */
export function postEdgeLoad(app: FastifyInstance, control: AppsContext): void {
  app.post(EDGE_LOAD_PATH, async (request, reply) => {
    await admitEdge(control, request)
    const { apps } = parseBody(request, edgeLoad)
    for (const { id, needed } of apps) control.scaler.note(id, () => scaleOut(control, id, needed))
    return reply.code(204).send()
  })
}
