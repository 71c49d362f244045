import { deployBody } from '@offshoot/contract/app'
import { deployment } from '@offshoot/contract/deployment'
import type { FastifyInstance } from 'fastify'
import { findApp } from '../model/find-app.ts'
import type { AppsContext } from '../model/apps-context.ts'
import { parseBody } from '../../../platform/http/body.ts'
import { refuseAccount } from '../../billing/limits/refuse-account.ts'
import { presentDeployment } from '../model/deployment-row.ts'
import { queueDeployment } from './queue-deployment.ts'

const COMMIT = /^[0-9a-f]{40}$/

/** `POST /v1/apps/{id}/deploys`: answers 202. The deployment shows its progress and result. */
export function postDeploys(app: FastifyInstance, control: AppsContext): void {
  app.post('/v1/apps/:id/deploys', {
    config: {
      credential: 'key-or-jwt',
      idempotent: {},
      docs: {
        summary: 'Deploy a branch, a tag or a commit of an app',
        tag: 'Apps',
        body: deployBody,
        status: 202,
        answer: deployment,
        errors: ['invalidField', 'notFound', 'freeQuotaExceeded', 'subscriptionNotActive'],
      },
    },
    handler: async (request, reply) => {
      const found = await findApp(control, request)
      const { git_ref: gitRef = found.git_branch } = parseBody(request, deployBody)
      await refuseAccount(control, found.workspace_id)
      const gitCommit = COMMIT.test(gitRef) ? gitRef : null
      const row = await queueDeployment(control.database.pool, found, { gitRef, gitCommit, originId: null })
      control.deployer.soon()
      return reply.code(202).send(presentDeployment(row))
    },
  })
}
