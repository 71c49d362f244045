import { workspaceSummary, type WorkspaceSummary } from '@offshoot/contract/identity'
import { type Org, org } from '@offshoot/contract/org'
import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import type { OrgsContext } from './orgs-context.ts'
import { orgOf, userOf } from '../../platform/http/caller.ts'
import { presentWorkspace } from './identity/present-workspace.ts'
import { orgDetails } from './org-statements.ts'

/** `GET /v1/orgs`: the caller's workspaces, in the order of joining. */
export function getOrgs(app: FastifyInstance): void {
  app.get('/v1/orgs', {
    config: {
      credential: 'jwt',
      docs: { summary: 'List workspaces', tag: 'Workspaces', status: 200, answer: z.array(workspaceSummary) },
    },
    handler: async (request): Promise<WorkspaceSummary[]> => userOf(request).workspaces.map(presentWorkspace),
  })
}

export function getOrg(app: FastifyInstance, { database }: OrgsContext): void {
  app.get('/v1/orgs/:id', {
    config: {
      credential: 'jwt',
      loads: 'org',
      permission: 'workspace:read',
      docs: { summary: 'One workspace', tag: 'Workspaces', status: 200, answer: org, errors: ['notFound'] },
    },
    handler: async (request): Promise<Org> => {
      const membership = orgOf(request)
      const [details] = await orgDetails(database.pool, membership.id)
      if (details === undefined) throw new Error('a workspace that was just there is gone')
      return { ...presentWorkspace(membership), ...details, created_at: details.created_at.toISOString() }
    },
  })
}
