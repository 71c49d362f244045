import { ApiError } from '@offshoot/contract/errors'
import type { FastifyRequest } from 'fastify'
import type { BillingContext } from '../billing/model/billing-context.ts'
import { callerOf } from '../../platform/http/caller.ts'
import type { HeldVolumeRow } from './volume-row.ts'
import { volumeByName } from './volume-statements.ts'

/** The name in the path. @throws ApiError 404 if no volume can have it: PostgreSQL cannot store NUL in a text */
export function volumeNameOf(request: FastifyRequest): string {
  const { name } = request.params as { name: string }
  if (name.includes('\0')) throw new ApiError('notFound')
  return name
}

/** The volume in the path. @throws ApiError 404, also for a volume of another workspace */
export async function findVolume(
  { database }: Pick<BillingContext, 'database'>,
  request: FastifyRequest,
): Promise<HeldVolumeRow> {
  const [row] = await volumeByName(database.pool, callerOf(request).workspaceId, volumeNameOf(request))
  if (row === undefined) throw new ApiError('notFound')
  return row
}
