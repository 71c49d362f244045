import { ApiError } from '@offshoot/contract/errors'
import { patchVolumeBody, volume } from '@offshoot/contract/volume'
import type { FastifyInstance } from 'fastify'
import { refuse } from '../../fleet/agent-failure.ts'
import { growOnAgent } from '../../fleet/volume-calls.ts'
import type { BillingContext } from '../billing/model/billing-context.ts'
import { parseBody } from '../../platform/http/body.ts'
import { admitGrowth } from './admit-volume.ts'
import { findVolume } from './find-volume.ts'
import { presentVolume } from './volume-row.ts'
import { setVolumeReady } from './volume-statements.ts'

/** `PATCH /v1/volumes/{name}`: grows the volume and its file system, also while a sandbox writes to it. */
export function patchVolume(app: FastifyInstance, control: BillingContext): void {
  app.patch('/v1/volumes/:name', {
    config: {
      credential: 'key-or-jwt',
      docs: {
        summary: 'Grow a volume',
        tag: 'Volumes',
        body: patchVolumeBody,
        status: 200,
        answer: volume,
        errors: [
          'invalidField',
          'notFound',
          'volumeAttached',
          'sandboxStopped',
          'volumeQuota',
          'agentUnreachable',
          'insufficientStorage',
        ],
      },
    },
    handler: async (request) => {
      const row = await findVolume(control, request)
      const { size_mb: sizeMb } = parseBody(request, patchVolumeBody)
      if (sizeMb < row.size_mb) {
        throw new ApiError('invalidField', { error: `size_mb must be >= ${row.size_mb}: a volume does not shrink` })
      }
      const { id, workspace_id: workspaceId } = row
      await admitGrowth(control, workspaceId, sizeMb)
      const agent = control.fleet.byId(row.agent_id)
      if (agent === undefined) throw new ApiError('agentUnreachable')
      const grown = await growOnAgent(agent.client, { id, workspaceId, requestId: request.id }, sizeMb).catch(refuse)
      const [kept] = await setVolumeReady(control.database.pool, id, grown.size_mb)
      if (kept === undefined) throw new ApiError('notFound')
      return presentVolume({ ...row, ...kept }, grown.used_bytes)
    },
  })
}
