import { ApiError } from '@offshoot/contract/errors'
import {
  gitInstallation,
  gitInstallationListQuery,
  gitRepository,
  gitReposQuery,
} from '@offshoot/contract/git-provider'
import type { FastifyInstance } from 'fastify'
import { sql } from 'kysely'
import { z } from 'zod'
import type { AppsContext } from '../model/apps-context.ts'
import { callerOf } from '../../../platform/http/caller.ts'
import { parseWith } from '../../../platform/http/body.ts'
import { createdBetween, equals, type ListOrder, listPage } from '../../../platform/http/page-of.ts'
import {
  INSTALLATION_COLUMNS,
  installationOfWorkspace,
  type InstallationRow,
  removeInstallation,
} from './git-provider-statements.ts'
import { providerOf } from './provider-of.ts'

const TAG = 'Git provider'
const ORDER: ListOrder<InstallationRow> = {
  name: 'installations',
  direction: 'desc',
  keys: [
    { sql: 'created_at', type: 'timestamptz', of: (row) => row.created_at },
    { sql: 'installation_id', type: 'bigint', of: ({ installation_id: id }) => id },
  ],
}

/** `GET installations`, `DELETE installations/{installation_id}` and `GET repos`, for the caller's workspace. */
export function installationRoutes(app: FastifyInstance, control: AppsContext, base: string): void {
  const { pool } = control.database
  app.get(`${base}/installations`, {
    config: {
      credential: 'key-or-jwt',
      docs: {
        summary: 'List installations, newest first',
        tag: TAG,
        query: gitInstallationListQuery,
        status: 200,
        answer: z.array(gitInstallation),
        errors: ['invalidField'],
      },
    },
    handler: async (request, reply) => {
      const query = parseWith(gitInstallationListQuery, request.query)
      const { workspaceId } = callerOf(request)
      const rows = await listPage(control, request, reply, {
        order: ORDER,
        owner: workspaceId,
        select: `select ${INSTALLATION_COLUMNS} from git_installations`,
        where: [
          sql`workspace_id = ${workspaceId}`,
          ...equals('lower(account_login)', query.account_login?.toLowerCase()),
          ...createdBetween('created_at', query),
        ],
        query,
      })
      return rows.map(({ workspace_id: _workspace, created_at: createdAt, ...row }) => ({
        ...row,
        created_at: createdAt.toISOString(),
      }))
    },
  })
  app.delete(`${base}/installations/:id`, {
    config: {
      credential: 'key-or-jwt',
      docs: { summary: 'Let go of an installation', tag: TAG, status: 204, errors: ['notFound'] },
    },
    handler: async (request, reply) => {
      const { id } = request.params as { id: string }
      const isNumber = /^[1-9]\d{0,14}$/.test(id)
      const [removed] = isNumber ? await removeInstallation(pool, Number(id), callerOf(request).workspaceId) : []
      if (removed === undefined) throw new ApiError('notFound')
      return reply.code(204).send()
    },
  })
  app.get(`${base}/repos`, {
    config: {
      credential: 'key-or-jwt',
      docs: {
        summary: 'List the repositories that an installation opens',
        tag: TAG,
        query: gitReposQuery,
        status: 200,
        answer: z.array(gitRepository),
        errors: ['invalidField', 'notFound', 'gitProvider', 'gitProviderUnconfigured'],
      },
    },
    handler: async (request) => {
      const { installation_id: id } = parseWith(gitReposQuery, request.query)
      const [row] = await installationOfWorkspace(pool, Number(id), callerOf(request).workspaceId)
      if (row === undefined) throw new ApiError('notFound')
      return providerOf(control).repositories(row.installation_id)
    },
  })
}
