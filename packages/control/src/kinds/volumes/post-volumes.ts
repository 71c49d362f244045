import { ApiError } from '@offshoot/contract/errors'
import { isUuid, type VolumeId, type WorkspaceId } from '@offshoot/contract/ids'
import { createVolumeBody, DEFAULT_VOLUME_MIB, volume } from '@offshoot/contract/volume'
import type { FastifyInstance } from 'fastify'
import type { BillingContext } from '../billing/model/billing-context.ts'
import { callerOf } from '../../platform/http/caller.ts'
import { parseBody } from '../../platform/http/body.ts'
import { resourceIdOf } from '../../platform/idempotency/idempotency.ts'
import { createVolume } from './create-volume.ts'
import { presentNewVolume } from './present-new-volume.ts'
import { volumeRemains } from './volume-remains.ts'
import type { VolumeRow } from './volume-row.ts'
import { volumeSnapshotById } from './volume-statements.ts'

/** `POST /v1/volumes`: answers 201 once the file system is on the agent's disk. */
export function postVolumes(app: FastifyInstance, control: BillingContext): void {
  app.post('/v1/volumes', {
    config: {
      credential: 'key-or-jwt',
      idempotent: { findRemains: (workspaceId, id) => volumeRemains(control, workspaceId, id) },
      docs: {
        summary: 'Create a volume: an ext4 block device that outlives sandboxes',
        tag: 'Volumes',
        body: createVolumeBody,
        status: 201,
        answer: volume,
        errors: [
          'invalidField',
          'notFound',
          'volumeExists',
          'volumeQuota',
          'noComputeNode',
          'agentUnreachable',
          'insufficientStorage',
        ],
      },
    },
    handler: async (request, reply) => {
      const { workspaceId } = callerOf(request)
      const { name, size_mb: size, from_snapshot: text } = parseBody(request, createVolumeBody)
      const from = text === undefined ? null : await findSnapshot(control, workspaceId, text)
      const sizeMb = size ?? from?.size_mb ?? DEFAULT_VOLUME_MIB
      if (from !== null && sizeMb < from.size_mb) {
        throw new ApiError('invalidField', { error: `size_mb must be >= ${from.size_mb}, the snapshot's` })
      }
      const made = await createVolume(control, {
        id: resourceIdOf(request) as VolumeId,
        workspaceId,
        requestId: request.id,
        kind: 'volume',
        name,
        sizeMb,
        from,
      })
      return reply.code(201).send(await presentNewVolume(control, made, request.id))
    },
  })
}

async function findSnapshot({ database }: BillingContext, workspaceId: WorkspaceId, id: string): Promise<VolumeRow> {
  const [row] = isUuid(id) ? await volumeSnapshotById(database.pool, workspaceId, id) : []
  if (row === undefined) throw new ApiError('notFound', { detail: `unknown snapshot: ${id}` })
  return row
}
