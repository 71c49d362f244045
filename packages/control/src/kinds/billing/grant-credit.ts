import { ApiError } from '@offshoot/contract/errors'
import type { WorkspaceId } from '@offshoot/contract/ids'
import { statement, type Queryable } from '../../platform/db/statement.ts'

export const insertGrant = statement<{ id: string }, [workspaceId: string, microUsd: number, reason: string]>(
  'insert-credit-grant',
  `insert into credit_grants (workspace_id, micro_usd, reason)
   select id, $2, $3 from organization where id = $1 returning id`,
)

/**
 * Grants a workspace credit for the current calendar month (UTC), in addition to its plan's.
 *
 * @param microUsd an integer above 0, in millionths of a dollar
 * @param reason for the books
 * @returns id of the grant
 * @throws ApiError 404 if the workspace does not exist
 */
export async function grantCredit(
  on: Queryable,
  workspaceId: WorkspaceId,
  microUsd: number,
  reason: string,
): Promise<string> {
  const [row] = await insertGrant(on, workspaceId, microUsd, reason)
  if (row === undefined) throw new ApiError('notFound')
  return row.id
}
