import { deployment } from '@offshoot/contract/deployment'
import { MAX_LIST_LIMIT } from '@offshoot/contract/page'
import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { findApp } from '../find-app.ts'
import type { AppsContext } from '../apps-context.ts'
import { presentDeployment } from './deployment-row.ts'
import { deploymentsOfApp } from './deployment-statements.ts'

/** `GET /v1/apps/{id}/deploys`: the last thousand, newest first. */
export function getDeploys(app: FastifyInstance, control: AppsContext): void {
  app.get('/v1/apps/:id/deploys', {
    config: {
      credential: 'key-or-jwt',
      docs: {
        summary: 'List the deploys of an app, newest first',
        tag: 'Apps',
        status: 200,
        answer: z.array(deployment),
        errors: ['notFound'],
      },
    },
    handler: async (request) => {
      const { id } = await findApp(control, request)
      return (await deploymentsOfApp(control.database.pool, id, MAX_LIST_LIMIT)).map(presentDeployment)
    },
  })
}
