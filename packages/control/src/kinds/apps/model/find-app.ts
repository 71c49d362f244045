import { ApiError } from '@offshoot/contract/errors'
import { isUuid } from '@offshoot/contract/ids'
import type { FastifyRequest } from 'fastify'
import type { AppsContext } from './apps-context.ts'
import { callerOf } from '../../../platform/http/caller.ts'
import type { AppRow } from './app-row.ts'
import { appOfWorkspace } from './app-statements.ts'

/** The app in the path. @throws ApiError 404, also for an app of another workspace */
export async function findApp({ database }: Pick<AppsContext, 'database'>, request: FastifyRequest): Promise<AppRow> {
  const { id } = request.params as { id: string }
  const [row] = isUuid(id) ? await appOfWorkspace(database.pool, id, callerOf(request).workspaceId) : []
  if (row === undefined) throw new ApiError('notFound')
  return row
}
