import { volume, volumeListQuery } from '@offshoot/contract/volume'
import type { FastifyInstance } from 'fastify'
import { sql } from 'kysely'
import { z } from 'zod'
import type { BillingContext } from '../billing/model/billing-context.ts'
import { callerOf } from '../../platform/http/caller.ts'
import { parseWith } from '../../platform/http/body.ts'
import { createdBetween, equals, type ListOrder, listPage, newestFirst } from '../../platform/http/page-of.ts'
import { usedBytes } from './used-bytes.ts'
import { type HeldVolumeRow, presentVolume } from './volume-row.ts'
import { HELD_VOLUME_COLUMNS } from './volume-statements.ts'

const ORDER: ListOrder<HeldVolumeRow> = newestFirst('volumes', 'v')

/** `GET /v1/volumes`: the volumes of the workspace, on all agents, newest first. */
export function getVolumes(app: FastifyInstance, control: BillingContext): void {
  app.get('/v1/volumes', {
    config: {
      credential: 'key-or-jwt',
      docs: {
        summary: 'List volumes, newest first',
        tag: 'Volumes',
        query: volumeListQuery,
        status: 200,
        answer: z.array(volume),
        errors: ['invalidField'],
      },
    },
    handler: async (request, reply) => {
      const query = parseWith(volumeListQuery, request.query)
      const { workspaceId } = callerOf(request)
      const rows = await listPage(control, request, reply, {
        order: ORDER,
        owner: workspaceId,
        select: `select * from (select ${HELD_VOLUME_COLUMNS} from volumes v
          where v.kind = 'volume' and v.status = 'ready') v`,
        where: [
          sql`v.workspace_id = ${workspaceId}`,
          ...equals('v.name', query.name),
          ...equals(`(v.attachments <> '[]')`, query.attached),
          ...createdBetween('v.created_at', query),
        ],
        query,
      })
      const used = await usedBytes(control, workspaceId, rows, request.id)
      return rows.map((row) => presentVolume(row, used.get(row.id) ?? null))
    },
  })
}
