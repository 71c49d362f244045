import type { FastifyInstance } from 'fastify'
import type { BillingContext } from '../billing/model/billing-context.ts'
import { deleteVolume } from './delete-volume.ts'
import { getVolume } from './get-volume.ts'
import { getVolumes } from './get-volumes.ts'
import { patchVolume } from './patch-volume.ts'
import { postClone } from './post-clone.ts'
import { postVolumes } from './post-volumes.ts'
import { volumeSnapshotRoutes } from './volume-snapshot-routes.ts'

/** Everything under `/v1/volumes`. */
export function volumeRoutes(app: FastifyInstance, control: BillingContext): void {
  for (const route of [
    postVolumes,
    getVolumes,
    getVolume,
    patchVolume,
    deleteVolume,
    postClone,
    volumeSnapshotRoutes,
  ]) {
    route(app, control)
  }
}
