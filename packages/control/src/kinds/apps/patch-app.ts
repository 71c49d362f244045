import { app as appSchema, type PatchAppBody, patchAppBody } from '@offshoot/contract/app'
import { ApiError } from '@offshoot/contract/errors'
import type { FastifyInstance } from 'fastify'
import { markPreviewsDeleted, setPreviewsVisibility } from './previews/preview-statements.ts'
import type { AppsContext } from './model/apps-context.ts'
import type { Queryable } from '../../platform/db/statement.ts'
import { transaction } from '../../platform/db/transaction.ts'
import { lockApp } from './model/deployment-statements.ts'
import { parseBody } from '../../platform/http/body.ts'
import { sealEnvironment } from './model/app-environment.ts'
import type { AppRow } from './model/app-row.ts'
import { updateApp } from './model/app-statements.ts'
import { findApp } from './model/find-app.ts'
import { presentAppOf } from './model/present-app.ts'
import { settleVisibility } from './settle-visibility.ts'

/** Bytes: `env` alone may hold 8 Mi characters. */
const BODY_LIMIT_BYTES = 32 * 1024 * 1024

/**
 * `PATCH /v1/apps/{id}`: changes the settings of the next deployment. Of the serving version, only `visibility`
 * changes, and that at once.
 */
export function patchApp(app: FastifyInstance, control: AppsContext): void {
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
        errors: ['invalidField', 'notFound', 'conflict', 'agentUnreachable'],
      },
    },
    handler: async (request) => {
      const { id, pull_number: pullNumber } = await findApp(control, request)
      const body = parseBody(request, patchAppBody)
      if (pullNumber !== null) throw new ApiError('conflict', { detail: 'a preview has the settings of its app' })
      const row = await transaction(control.database.pool, (client) => change(control, client, id, body))
      if (body.visibility !== undefined) await settleVisibility(control, id)
      return presentAppOf(control, row)
    },
  })
}

async function change(control: AppsContext, client: Queryable, id: string, body: PatchAppBody): Promise<AppRow> {
  await lockApp(client, id)
  if (body.preview_deploys === false) await markPreviewsDeleted(client, id, null)
  const [row] = await updateApp(
    client,
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
    body.preview_deploys ?? null,
    body.visibility ?? null,
  )
  if (row === undefined) throw new ApiError('notFound')
  if (body.visibility !== undefined) await setPreviewsVisibility(client, id)
  return row
}
