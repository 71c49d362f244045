import { app as appSchema } from '@offshoot/contract/app'
import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import type { AppsContext } from './apps-context.ts'
import { callerOf } from '../../platform/http/caller.ts'
import { appsOfWorkspace } from './app-statements.ts'
import { presentAppOf } from './present-app.ts'

/** `GET /v1/apps`: all apps of the workspace, newest first. */
export function getApps(app: FastifyInstance, control: AppsContext): void {
  app.get('/v1/apps', {
    config: {
      credential: 'key-or-jwt',
      docs: { summary: 'List apps, newest first', tag: 'Apps', status: 200, answer: z.array(appSchema) },
    },
    handler: async (request) => {
      const rows = await appsOfWorkspace(control.database.pool, callerOf(request).workspaceId)
      return rows.map((row) => presentAppOf(control, row))
    },
  })
}
