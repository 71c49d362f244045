import { ApiError } from '@offshoot/contract/errors'
import { parseSandboxId } from '@offshoot/contract/ids'
import type { FastifyRequest } from 'fastify'
import type { Control } from '../../control.ts'
import { callerOf } from '../orgs/admission.ts'
import type { DatabaseRow } from './database-row.ts'
import { databaseOfWorkspace } from './database-statements.ts'

/** The database that the path names, if the caller's workspace has it. @throws ApiError 404 */
export async function findDatabase({ database }: Control, request: FastifyRequest): Promise<DatabaseRow> {
  const id = parseSandboxId((request.params as { id: string }).id)
  const [row] = id === null ? [] : await databaseOfWorkspace(database.pool, id, callerOf(request).workspaceId)
  if (row === undefined) throw new ApiError('notFound')
  return row
}
