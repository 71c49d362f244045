import { app as appSchema, patchAppBody } from '@offshoot/contract/app'
import { ApiError } from '@offshoot/contract/errors'
import type { FastifyInstance } from 'fastify'
import type { Control } from '../control.ts'
import { parseBody } from '../http/body.ts'
import { sealEnvironment } from './app-environment.ts'
import { updateApp } from './app-statements.ts'
import { findApp } from './find-app.ts'
import { presentAppOf } from './present-app.ts'

/** Bytes: `env` alone may hold 8 Mi characters. */
const BODY_LIMIT_BYTES = 32 * 1024 * 1024

/** `PATCH /v1/apps/{id}`: what the next deploy goes by; what serves now stays as it is. */
export function patchApp(app: FastifyInstance, control: Control): void {
  app.patch('/v1/apps/:id', {
    bodyLimit: BODY_LIMIT_BYTES,
    config: {
      credential: 'key-or-jwt',
      docs: {
        summary: 'Change an app',
        tag: 'Apps',
        body: patchAppBody,
        status: 200,
        answer: appSchema,
        errors: ['invalidField', 'notFound'],
      },
    },
    handler: async (request) => {
      const { id } = await findApp(control, request)
      const body = parseBody(request, patchAppBody)
      const [row] = await updateApp(
        control.database.pool,
        id,
        body.git_branch ?? null,
        body.framework ?? null,
        body.runtime ?? null,
        body.install_command ?? null,
        body.build_command ?? null,
        body.start_command ?? null,
        body.root_directory ?? null,
        body.env === undefined ? null : sealEnvironment(control.appSecrets, body.env),
        body.port ?? null,
        body.max_instances ?? null,
        body.auto_deploy ?? null,
        body.idle_timeout_seconds ?? null,
      )
      if (row === undefined) throw new ApiError('notFound')
      return presentAppOf(control, row)
    },
  })
}
