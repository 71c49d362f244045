import { volume } from '@offshoot/contract/volume'
import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import type { BillingContext } from '../billing/billing-context.ts'
import { callerOf } from '../../platform/http/caller.ts'
import { usedBytes } from './used-bytes.ts'
import { presentVolume } from './volume-row.ts'
import { volumesOfWorkspace } from './volume-statements.ts'

/** `GET /v1/volumes`: all volumes of the workspace, on all agents, newest first. */
export function getVolumes(app: FastifyInstance, control: BillingContext): void {
  app.get('/v1/volumes', {
    config: {
      credential: 'key-or-jwt',
      docs: { summary: 'List volumes, newest first', tag: 'Volumes', status: 200, answer: z.array(volume) },
    },
    handler: async (request) => {
      const { workspaceId } = callerOf(request)
      const rows = await volumesOfWorkspace(control.database.pool, workspaceId)
      const used = await usedBytes(control, workspaceId, rows, request.id)
      return rows.map((row) => presentVolume(row, used.get(row.id) ?? null))
    },
  })
}
