import { app as appSchema } from '@offshoot/contract/app'
import type { FastifyInstance } from 'fastify'
import type { AppsContext } from './model/apps-context.ts'
import { findApp } from './model/find-app.ts'
import { presentAppOf } from './model/present-app.ts'

export function getApp(app: FastifyInstance, control: AppsContext): void {
  app.get('/v1/apps/:id', {
    config: {
      audit: 'secret',
      credential: 'key-or-jwt',
      docs: { summary: 'Read one app', tag: 'Apps', status: 200, answer: appSchema, errors: ['notFound'] },
    },
    handler: async (request) => presentAppOf(control, await findApp(control, request)),
  })
}
