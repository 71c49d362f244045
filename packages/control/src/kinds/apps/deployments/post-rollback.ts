import { rollbackBody } from '@offshoot/contract/app'
import { deployment } from '@offshoot/contract/deployment'
import { ApiError } from '@offshoot/contract/errors'
import { isUuid } from '@offshoot/contract/ids'
import type { FastifyInstance } from 'fastify'
import type { AppRow } from '../model/app-row.ts'
import { findApp } from '../model/find-app.ts'
import type { AppsContext } from '../model/apps-context.ts'
import { parseBody } from '../../../platform/http/body.ts'
import { type DeploymentRow, presentDeployment } from '../model/deployment-row.ts'
import { deploymentOfApp, previousDeployment } from '../model/deployment-statements.ts'
import { queueDeployment } from './queue-deployment.ts'

/**
 * `POST /v1/apps/{id}/rollback`: answers 202 with a new deployment of an earlier build. Its sandbox is woken if it is
 * kept, else the commit is built again.
 */
export function postRollback(app: FastifyInstance, control: AppsContext): void {
  app.post('/v1/apps/:id/rollback', {
    config: {
      credential: 'key-or-jwt',
      idempotent: {},
      docs: {
        summary: 'Go back to the deploy before, or to the one that is named',
        tag: 'Apps',
        body: rollbackBody,
        status: 202,
        answer: deployment,
        errors: ['invalidField', 'notFound', 'noEarlierDeployment'],
      },
    },
    handler: async (request, reply) => {
      const found = await findApp(control, request)
      const { deployment_id: named } = parseBody(request, rollbackBody)
      const target = await targetOf(control, found, named)
      const { git_ref: gitRef, git_commit: gitCommit, origin_id: originId } = target
      const row = await queueDeployment(control.database.pool, found, { gitRef, gitCommit, originId })
      control.deployer.soon()
      return reply.code(202).send(presentDeployment(row))
    },
  })
}

async function targetOf({ database }: AppsContext, { id }: AppRow, named: string | undefined): Promise<DeploymentRow> {
  if (named === undefined) {
    const [previous] = await previousDeployment(database.pool, id)
    if (previous === undefined) throw new ApiError('noEarlierDeployment')
    return previous
  }
  const [row] = isUuid(named) ? await deploymentOfApp(database.pool, named, id) : []
  if (row === undefined) throw new ApiError('notFound')
  if (row.status !== 'superseded' || row.git_commit === null) {
    throw new ApiError('noEarlierDeployment', { detail: `that deployment is ${row.status}` })
  }
  return row
}
