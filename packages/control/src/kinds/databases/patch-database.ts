import { database, patchDatabaseBody } from '@offshoot/contract/database'
import { ApiError } from '@offshoot/contract/errors'
import type { FastifyInstance } from 'fastify'
import type { DatabasesContext } from './databases-context.ts'
import { parseBody } from '../../platform/http/body.ts'
import { changeLifecycle } from '../sandboxes/lifecycle/change-lifecycle.ts'
import { sandboxById } from '../sandboxes/model/sandbox-statements.ts'
import { presentDatabase } from './present-database.ts'
import { patchDatabaseRow } from './database-statements.ts'
import { findDatabase } from './find-database.ts'
import { growDisk } from './grow-disk.ts'

/** An idle timeout that never passes: about 63 years. */
export const NEVER = 2_000_000_000

/** `PATCH /v1/databases/{id}`: changes its label, its disk, and its idle timeout. */
export function patchDatabase(app: FastifyInstance, control: DatabasesContext): void {
  app.patch('/v1/databases/:id', {
    config: {
      credential: 'key-or-jwt',
      docs: {
        summary: 'Change the label of a database, make its disk larger, or change when it sleeps',
        tag: 'Databases',
        body: patchDatabaseBody,
        status: 200,
        answer: database,
        errors: [
          'notFound',
          'sandboxNotFound',
          'sandboxNotRunning',
          'conflict',
          'agentUnreachable',
          'insufficientMemory',
        ],
      },
    },
    handler: async (request) => {
      const row = await findDatabase(control, request)
      const patch = parseBody(request, patchDatabaseBody)
      const { pool } = control.database
      if (patch.disk_mb !== undefined) await growDisk(control, row, patch.disk_mb, request.id)
      const {
        label = row.label,
        always_on: alwaysOn = row.always_on,
        idle_timeout_seconds: idleTimeout = row.idle_timeout_seconds,
      } = patch
      if (patch.always_on !== undefined || patch.idle_timeout_seconds !== undefined) {
        const [machine] = await sandboxById(pool, row.id)
        if (machine === undefined) throw new ApiError('sandboxNotRunning')
        await changeLifecycle(control, machine, { idle_timeout_seconds: alwaysOn ? NEVER : idleTimeout }, request.id)
      }
      const [kept] = await patchDatabaseRow(pool, row.id, label, idleTimeout, alwaysOn)
      if (kept === undefined) throw new ApiError('notFound')
      const disk = patch.disk_mb ?? row.disk_mb
      return presentDatabase(control, {
        ...row,
        label,
        disk_mb: disk,
        idle_timeout_seconds: idleTimeout,
        always_on: alwaysOn,
      })
    },
  })
}
