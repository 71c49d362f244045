import { deploymentWithLogs } from '@offshoot/contract/deployment'
import type { FastifyInstance } from 'fastify'
import type { AppsContext } from '../model/apps-context.ts'
import { presentDeployment } from '../model/deployment-row.ts'
import { findDeployment } from './find-deployment.ts'
import { wholeBuildLog } from './read-build-log.ts'

/** `GET /v1/apps/{id}/deploys/{deployment_id}`: includes the whole build log. */
export function getDeploy(app: FastifyInstance, control: AppsContext): void {
  app.get('/v1/apps/:id/deploys/:deployment_id', {
    config: {
      credential: 'key-or-jwt',
      docs: {
        summary: 'Read one deploy with the log of its build',
        tag: 'Apps',
        status: 200,
        answer: deploymentWithLogs,
        errors: ['notFound'],
      },
    },
    handler: async (request) => {
      const row = await findDeployment(control, request)
      return { ...presentDeployment(row), build_logs: await wholeBuildLog(control.database.pool, row.id) }
    },
  })
}
