import { ApiError } from '@offshoot/contract/errors'
import { isUuid, type VolumeId } from '@offshoot/contract/ids'
import { createdQuery } from '@offshoot/contract/page'
import { volumeSnapshot } from '@offshoot/contract/volume'
import type { FastifyInstance } from 'fastify'
import { sql } from 'kysely'
import { z } from 'zod'
import type { BillingContext } from '../billing/model/billing-context.ts'
import { callerOf } from '../../platform/http/caller.ts'
import { parseBody, parseWith } from '../../platform/http/body.ts'
import { createdBetween, equals, type ListOrder, listPage, newestFirst } from '../../platform/http/page-of.ts'
import { resourceIdOf } from '../../platform/idempotency/idempotency.ts'
import { createVolume } from './create-volume.ts'
import { findVolume, volumeNameOf } from './find-volume.ts'
import { removeVolume } from './remove-volume.ts'
import { volumeRemains } from './volume-remains.ts'
import { presentVolumeSnapshot, VOLUME_COLUMNS, type VolumeRow } from './volume-row.ts'
import { anySnapshotOfVolume, volumeSnapshotById } from './volume-statements.ts'

const noFields = z.object({})
const path = '/v1/volumes/:name/snapshots'
const credential = 'key-or-jwt'
const ORDER: ListOrder<VolumeRow> = newestFirst('volume-snapshots', 'volumes')

/**
 * `POST`, `GET /v1/volumes/{name}/snapshots` and `DELETE /v1/volumes/{name}/snapshots/{id}`: read-only copies that
 * outlive their volume. `POST /v1/volumes` with `from_snapshot` creates a volume from one.
 */
export function volumeSnapshotRoutes(app: FastifyInstance, control: BillingContext): void {
  app.post(path, {
    config: {
      credential,
      idempotent: { findRemains: (workspaceId, id) => volumeRemains(control, workspaceId, id) },
      docs: {
        summary: 'Take a snapshot of a volume, also while a sandbox writes it',
        tag: 'Volumes',
        body: noFields,
        status: 201,
        answer: volumeSnapshot,
        errors: ['notFound', 'volumeBusy', 'volumeQuota', 'agentUnreachable', 'insufficientStorage'],
      },
    },
    handler: async (request, reply) => {
      parseBody(request, noFields)
      const from = await findVolume(control, request)
      const { workspace_id: workspaceId, name, size_mb: sizeMb } = from
      const made = await createVolume(control, {
        id: resourceIdOf(request) as VolumeId,
        workspaceId,
        requestId: request.id,
        kind: 'snapshot',
        name,
        sizeMb,
        from,
      })
      return reply.code(201).send(presentVolumeSnapshot(made))
    },
  })
  app.get(path, {
    config: {
      credential,
      docs: {
        summary: 'List snapshots of a volume, newest first',
        tag: 'Volumes',
        query: createdQuery,
        status: 200,
        answer: z.array(volumeSnapshot),
        errors: ['invalidField', 'notFound'],
      },
    },
    handler: async (request, reply) => {
      const query = parseWith(createdQuery, request.query)
      const name = volumeNameOf(request)
      const { workspaceId } = callerOf(request)
      const rows = await listPage(control, request, reply, {
        order: ORDER,
        owner: `${workspaceId}/${name}`,
        select: `select ${VOLUME_COLUMNS} from volumes`,
        where: [
          sql`workspace_id = ${workspaceId} and kind = 'snapshot' and status = 'ready'`,
          ...equals('name', name),
          ...createdBetween('created_at', query),
        ],
        query,
      })
      // Snapshots stay when their volume is deleted, so the name is unknown only if neither exists.
      const isEmpty =
        rows.length === 0 && (await anySnapshotOfVolume(control.database.pool, workspaceId, name)).length === 0
      if (isEmpty) await findVolume(control, request)
      return rows.map(presentVolumeSnapshot)
    },
  })
  app.delete(`${path}/:id`, {
    config: {
      credential,
      docs: {
        summary: 'Delete a snapshot of a volume',
        tag: 'Volumes',
        status: 204,
        errors: ['notFound', 'agentUnreachable'],
      },
    },
    handler: async (request, reply) => {
      const { name, id } = request.params as { name: string; id: string }
      const { workspaceId } = callerOf(request)
      const [row] = isUuid(id) ? await volumeSnapshotById(control.database.pool, workspaceId, id) : []
      if (row === undefined || row.name !== name) throw new ApiError('notFound')
      await removeVolume(control, row, request.id)
      return reply.code(204).send()
    },
  })
}
