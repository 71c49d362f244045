import {
  app as appSchema,
  type CreateAppBody,
  createAppBody,
  DEFAULT_APP_IDLE_SECONDS,
  DEFAULT_APP_PORT,
  DEFAULT_BRANCH,
} from '@offshoot/contract/app'
import { ApiError } from '@offshoot/contract/errors'
import type { WorkspaceId } from '@offshoot/contract/ids'
import type { FastifyInstance } from 'fastify'
import type { AppsContext } from './model/apps-context.ts'
import { callerOf } from '../../platform/http/caller.ts'
import { parseBody } from '../../platform/http/body.ts'
import { resourceIdOf } from '../../platform/idempotency/idempotency.ts'
import { transaction } from '../../platform/db/transaction.ts'
import { lockAccount } from '../orgs/identity/account-statements.ts'
import { accountOfWorkspace } from '../orgs/identity/account-statements.ts'
import { workspaceSlug } from '../orgs/identity/org-statements.ts'
import { sealEnvironment } from './model/app-environment.ts'
import { appRemains } from './app-remains.ts'
import type { AppRow } from './model/app-row.ts'
import { insertApp, MAX_APPS } from './model/app-statements.ts'
import { hostOfName } from './host-of-name.ts'
import { presentAppOf } from './model/present-app.ts'

/** Bytes: `env` alone may hold 8 Mi characters. */
const BODY_LIMIT_BYTES = 32 * 1024 * 1024
/** PostgreSQL: unique_violation. */
const UNIQUE_VIOLATION = '23505'
const HOST_INDEX = 'apps_host_key'

/** `POST /v1/apps`: creates the app and its address. Nothing runs before its first deployment. */
export function postApps(app: FastifyInstance, control: AppsContext): void {
  app.post('/v1/apps', {
    bodyLimit: BODY_LIMIT_BYTES,
    config: {
      credential: 'key-or-jwt',
      idempotent: { findRemains: (workspaceId, id) => appRemains(control, workspaceId, id) },
      docs: {
        summary: 'Create an app of a git repository',
        tag: 'Apps',
        body: createAppBody,
        status: 201,
        answer: appSchema,
        errors: ['invalidField', 'appExists', 'tooManyApps'],
      },
    },
    handler: async (request, reply) => {
      const { workspaceId } = callerOf(request)
      const body = parseBody(request, createAppBody)
      const row = await createApp(control, workspaceId, resourceIdOf(request), body)
      return reply.code(201).send(presentAppOf(control, row))
    },
  })
}

async function createApp(
  control: AppsContext,
  workspaceId: WorkspaceId,
  id: string,
  body: CreateAppBody,
): Promise<AppRow> {
  const { pool } = control.database
  await accountOfWorkspace(pool, workspaceId, control.config.limits.default_plan)
  const [workspace] = await workspaceSlug(pool, workspaceId)
  if (workspace === undefined) throw new ApiError('notFound')
  const env = sealEnvironment(control.appSecrets, body.env ?? {})
  // Each attempt has a transaction of its own, because a unique violation aborts its transaction.
  const insert = (host: string | null) =>
    transaction(pool, async (client) => {
      // The lock makes concurrent creates of a workspace count one after the other.
      await lockAccount(client, workspaceId)
      return insertApp(
        client,
        id,
        workspaceId,
        body.name,
        host,
        body.git_url,
        body.git_branch ?? DEFAULT_BRANCH,
        body.framework ?? null,
        body.runtime || null,
        body.install_command || null,
        body.build_command || null,
        body.start_command || null,
        body.root_directory || null,
        env,
        body.port ?? DEFAULT_APP_PORT,
        body.max_instances ?? 1,
        body.auto_deploy ?? false,
        body.idle_timeout_seconds ?? DEFAULT_APP_IDLE_SECONDS,
        body.preview_deploys ?? false,
        body.visibility ?? 'public',
      )
    })
  const [row] = await insert(hostOfName(body.name, workspace.slug))
    // Another app has the host already, so this one gets none.
    .catch((error: unknown) => (takenIndex(error) === HOST_INDEX ? insert(null) : Promise.reject(error)))
    .catch((error: unknown) => {
      if (takenIndex(error) !== null) throw new ApiError('appExists', {}, { cause: error })
      throw error
    })
  if (row === undefined) throw new ApiError('tooManyApps', { max: MAX_APPS, active: MAX_APPS })
  return row
}

/** The unique index that an insert violated. */
function takenIndex(error: unknown): string | null {
  const { code, constraint } = error as { code?: unknown; constraint?: string }
  return code === UNIQUE_VIOLATION ? (constraint ?? '') : null
}
