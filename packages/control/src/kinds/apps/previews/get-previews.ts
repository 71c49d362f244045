import { app as appSchema } from '@offshoot/contract/app'
import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { findApp } from '../find-app.ts'
import { presentAppOf } from '../present-app.ts'
import type { AppsContext } from '../apps-context.ts'
import { previewsOfApp } from './preview-statements.ts'

/** `GET /v1/apps/{id}/previews`: the previews of open pull requests, each an app of its own. */
export function getPreviews(app: FastifyInstance, control: AppsContext): void {
  app.get('/v1/apps/:id/previews', {
    config: {
      credential: 'key-or-jwt',
      docs: {
        summary: 'List the previews of an app’s pull requests',
        tag: 'Apps',
        status: 200,
        answer: z.array(appSchema),
        errors: ['notFound'],
      },
    },
    handler: async (request) => {
      const { id } = await findApp(control, request)
      const rows = await previewsOfApp(control.database.pool, id)
      return rows.map((row) => presentAppOf(control, row))
    },
  })
}
