import { volume } from '@offshoot/contract/volume'
import type { FastifyInstance } from 'fastify'
import type { BillingContext } from '../billing/model/billing-context.ts'
import { findVolume } from './find-volume.ts'
import { usedBytes } from './used-bytes.ts'
import { presentVolume } from './volume-row.ts'

export function getVolume(app: FastifyInstance, control: BillingContext): void {
  app.get('/v1/volumes/:name', {
    config: {
      credential: 'key-or-jwt',
      docs: { summary: 'Read one volume', tag: 'Volumes', status: 200, answer: volume, errors: ['notFound'] },
    },
    handler: async (request) => {
      const row = await findVolume(control, request)
      const used = await usedBytes(control, row.workspace_id, [row], request.id)
      return presentVolume(row, used.get(row.id) ?? null)
    },
  })
}
