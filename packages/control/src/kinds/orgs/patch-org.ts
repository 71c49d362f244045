import { ApiError } from '@offshoot/contract/errors'
import { workspaceSummary, type WorkspaceSummary } from '@offshoot/contract/identity'
import { changeOrgBody, isSlug, SLUG_RULE } from '@offshoot/contract/org'
import type { FastifyInstance } from 'fastify'
import { actorOf } from '../../platform/audit/actor.ts'
import { recordAuditEvent } from '../../platform/audit/audit-statements.ts'
import type { OrgsContext } from './identity/orgs-context.ts'
import { transaction } from '../../platform/db/transaction.ts'
import { orgOf } from '../../platform/http/caller.ts'
import { parseBody } from '../../platform/http/body.ts'
import { presentWorkspace } from './identity/present-workspace.ts'
import { changeOrg } from './identity/org-statements.ts'

/** SQLSTATE unique_violation. */
const UNIQUE_VIOLATION = '23505'

/** `PATCH /v1/orgs/{id}`: changes name and slug. */
export function patchOrg(app: FastifyInstance, { database }: OrgsContext): void {
  app.patch('/v1/orgs/:id', {
    config: {
      audit: 'own',
      credential: 'jwt',
      loads: 'org',
      permission: 'workspace:update',
      docs: {
        summary: 'Rename a workspace',
        tag: 'Workspaces',
        body: changeOrgBody,
        status: 200,
        answer: workspaceSummary,
        errors: ['invalidField', 'notFound', 'slugTaken'],
      },
    },
    handler: async (request): Promise<WorkspaceSummary> => {
      const membership = orgOf(request)
      const { name = null, slug = null } = parseBody(request, changeOrgBody)
      // The service itself made the slug of a personal workspace, which a user may keep but not choose.
      if (slug !== null && slug !== membership.slug && !isSlug(slug))
        throw new ApiError('invalidField', { error: SLUG_RULE })
      const changed = await transaction(database.pool, async (client) => {
        const [row] = await changeOrg(client, membership.id, name, slug)
        if (row === undefined) throw new ApiError('notFound')
        await recordAuditEvent(client, actorOf(request), {
          workspaceId: membership.id,
          action: 'org.updated',
          target: membership.id,
          details: { ...row },
        })
        return row
      }).catch((error: unknown) => {
        if ((error as { code?: unknown }).code === UNIQUE_VIOLATION) throw new ApiError('slugTaken')
        throw error
      })
      return { ...presentWorkspace(membership), ...changed }
    },
  })
}
