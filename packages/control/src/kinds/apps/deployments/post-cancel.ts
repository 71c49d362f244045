import { deployment } from '@offshoot/contract/deployment'
import { ApiError } from '@offshoot/contract/errors'
import type { FastifyInstance } from 'fastify'
import type { AppsContext } from '../model/apps-context.ts'
import { presentDeployment } from '../model/deployment-row.ts'
import { cancelDeployment } from '../model/deployment-statements.ts'
import { findDeployment } from './find-deployment.ts'

/**
 * `POST /v1/apps/{id}/deploys/{deployment_id}/cancel`: answers 202. The deployment becomes `failed`, unless it went
 * live first.
 */
export function postCancel(app: FastifyInstance, control: AppsContext): void {
  app.post('/v1/apps/:id/deploys/:deployment_id/cancel', {
    config: {
      credential: 'key-or-jwt',
      docs: {
        summary: 'Cancel a deploy that is under way',
        tag: 'Apps',
        status: 202,
        answer: deployment,
        errors: ['notFound', 'deploymentOver'],
      },
    },
    handler: async (request, reply) => {
      const { id } = await findDeployment(control, request)
      const [row] = await cancelDeployment(control.database.pool, id)
      if (row === undefined) throw new ApiError('deploymentOver')
      control.deployer.soon()
      return reply.code(202).send(presentDeployment(row))
    },
  })
}
