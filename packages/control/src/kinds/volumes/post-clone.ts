import type { VolumeId } from '@offshoot/contract/ids'
import { cloneVolumeBody, volume } from '@offshoot/contract/volume'
import type { FastifyInstance } from 'fastify'
import type { BillingContext } from '../billing/model/billing-context.ts'
import { callerOf } from '../../platform/http/caller.ts'
import { parseBody } from '../../platform/http/body.ts'
import { resourceIdOf } from '../../platform/idempotency/idempotency.ts'
import { createVolume } from './create-volume.ts'
import { findVolume } from './find-volume.ts'
import { presentNewVolume } from './present-new-volume.ts'
import { volumeRemains } from './volume-remains.ts'

/** `POST /v1/volumes/{name}/clone`: answers 201 with a new volume that has the current data of this one. */
export function postClone(app: FastifyInstance, control: BillingContext): void {
  app.post('/v1/volumes/:name/clone', {
    config: {
      credential: 'key-or-jwt',
      idempotent: { findRemains: (workspaceId, id) => volumeRemains(control, workspaceId, id) },
      docs: {
        summary: 'Copy a volume, also while a sandbox writes it',
        tag: 'Volumes',
        body: cloneVolumeBody,
        status: 201,
        answer: volume,
        errors: [
          'invalidField',
          'notFound',
          'volumeExists',
          'volumeBusy',
          'volumeQuota',
          'agentUnreachable',
          'insufficientStorage',
        ],
      },
    },
    handler: async (request, reply) => {
      const { workspaceId } = callerOf(request)
      const from = await findVolume(control, request)
      const { name } = parseBody(request, cloneVolumeBody)
      const { size_mb: sizeMb } = from
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
