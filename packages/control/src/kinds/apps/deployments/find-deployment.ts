import { ApiError } from '@offshoot/contract/errors'
import { isUuid } from '@offshoot/contract/ids'
import type { FastifyRequest } from 'fastify'
import { findApp } from '../model/find-app.ts'
import type { AppsContext } from '../model/apps-context.ts'
import type { DeploymentRow } from '../model/deployment-row.ts'
import { deploymentOfApp } from '../model/deployment-statements.ts'

/** The deployment in the path. @throws ApiError 404, also for a deployment of another app */
export async function findDeployment(
  control: Pick<AppsContext, 'database'>,
  request: FastifyRequest,
): Promise<DeploymentRow> {
  const { id: appId } = await findApp(control, request)
  const { deployment_id: id } = request.params as { deployment_id: string }
  const [row] = isUuid(id) ? await deploymentOfApp(control.database.pool, id, appId) : []
  if (row === undefined) throw new ApiError('notFound')
  return row
}
