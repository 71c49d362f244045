import { ApiError } from '@offshoot/contract/errors'
import { parseSandboxId } from '@offshoot/contract/ids'
import type { FastifyRequest } from 'fastify'
import type { DatabasesContext } from './databases-context.ts'
import { callerOf } from '../../platform/http/caller.ts'
import type { DatabaseRow } from './model/database-row.ts'
import { databaseOfWorkspace } from './database-statements.ts'

/** The database in the path, if it belongs to the caller's workspace. @throws ApiError 404 */
export async function findDatabase({ database }: DatabasesContext, request: FastifyRequest): Promise<DatabaseRow> {
  const id = parseSandboxId((request.params as { id: string }).id)
  const [row] = id === null ? [] : await databaseOfWorkspace(database.pool, id, callerOf(request).workspaceId)
  if (row === undefined) throw new ApiError('notFound')
  return row
}
