import { backupListQuery, databaseBackup } from '@offshoot/contract/database'
import { ApiError } from '@offshoot/contract/errors'
import { parseSnapshotId } from '@offshoot/contract/ids'
import type { FastifyInstance } from 'fastify'
import { sql } from 'kysely'
import { z } from 'zod'
import type { DatabasesContext } from './databases-context.ts'
import { parseBody, parseWith } from '../../platform/http/body.ts'
import { createdBetween, equals, type ListOrder, listPage } from '../../platform/http/page-of.ts'
import { removeSnapshot } from '../sandboxes/snapshots/remove-snapshot.ts'
import { BACKUP_COLUMNS, type BackupRow, backupOfDatabase, WHOLE_BACKUPS } from './backup-statements.ts'
import type { DatabaseRow } from './model/database-row.ts'
import { findDatabase } from './find-database.ts'
import { pruneDatabaseArchive } from './prune-archive.ts'
import { presentBackup, takeBackup } from './take-backup.ts'

const noFields = z.object({})
const PATH = '/v1/databases/:id/backups'
const tag = 'Databases'
const ORDER: ListOrder<BackupRow> = {
  name: 'backups',
  direction: 'desc',
  keys: [
    { sql: 's.created_at', type: 'timestamptz', of: (row) => row.created_at },
    { sql: 'b.id', type: 'uuid', of: ({ id }) => id },
  ],
}

/** `POST`, `GET /v1/databases/{id}/backups` and `DELETE …/backups/{backup}`. */
export function backupRoutes(app: FastifyInstance, control: DatabasesContext): void {
  app.post(PATH, {
    config: {
      credential: 'key-or-jwt',
      idempotent: {},
      docs: {
        summary: 'Back up a database as it is at this instant',
        tag,
        status: 201,
        answer: databaseBackup,
        errors: ['notFound', 'sandboxNotRunning', 'conflict', 'agentUnreachable', 'insufficientMemory'],
      },
    },
    handler: async (request, reply) => {
      parseBody(request, noFields)
      const database = await findDatabase(control, request)
      return reply.code(201).send(presentBackup(await takeBackup(control, database, 'request', request.id)))
    },
  })
  app.get(PATH, {
    config: {
      credential: 'key-or-jwt',
      docs: {
        summary: 'List the backups of a database, newest first',
        tag,
        query: backupListQuery,
        status: 200,
        answer: z.array(databaseBackup),
        errors: ['invalidField', 'notFound'],
      },
    },
    handler: async (request, reply) => {
      const query = parseWith(backupListQuery, request.query)
      const { id } = await findDatabase(control, request)
      const rows = await listPage(control, request, reply, {
        order: ORDER,
        owner: id,
        select: `select ${BACKUP_COLUMNS} from ${WHOLE_BACKUPS}`,
        where: [
          sql`b.database_id = ${id}`,
          ...equals('b.origin', query.origin),
          ...equals('b.verified', query.verified),
          ...createdBetween('s.created_at', query),
        ],
        query,
      })
      return rows.map(presentBackup)
    },
  })
  app.delete(`${PATH}/:backup`, {
    config: {
      credential: 'key-or-jwt',
      docs: { summary: 'Delete a backup', tag, status: 204, errors: ['notFound', 'agentUnreachable'] },
    },
    handler: async (request, reply) => {
      const { backup } = request.params as { backup: string }
      const found = await findDatabase(control, request)
      await removeSnapshot(control, await findBackup(control, found, backup), request.id)
      await pruneDatabaseArchive(control, found.id, request.id)
      return reply.code(204).send()
    },
  })
}

/** @throws ApiError 404, also for a backup of another database */
export async function findBackup(
  { database }: DatabasesContext,
  { id }: Pick<DatabaseRow, 'id'>,
  text: string,
): Promise<BackupRow> {
  const backupId = parseSnapshotId(text)
  const [row] = backupId === null ? [] : await backupOfDatabase(database.pool, backupId, id)
  if (row === undefined) throw new ApiError('notFound', { detail: 'unknown backup' })
  return row
}
