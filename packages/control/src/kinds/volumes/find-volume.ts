import { ApiError } from '@offshoot/contract/errors'
import type { FastifyRequest } from 'fastify'
import type { BillingContext } from '../billing/billing-context.ts'
import { callerOf } from '../../platform/http/caller.ts'
import type { HeldVolumeRow } from './volume-row.ts'
import { volumeByName } from './volume-statements.ts'

/** The volume in the path. @throws ApiError 404, also for a volume of another workspace */
export async function findVolume(
  { database }: Pick<BillingContext, 'database'>,
  request: FastifyRequest,
): Promise<HeldVolumeRow> {
  const { name } = request.params as { name: string }
  // PostgreSQL cannot store NUL in a text, so no volume has such a name.
  const [row] = name.includes('\0') ? [] : await volumeByName(database.pool, callerOf(request).workspaceId, name)
  if (row === undefined) throw new ApiError('notFound')
  return row
}
