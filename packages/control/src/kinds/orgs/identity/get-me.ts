import { me, type Me } from '@offshoot/contract/identity'
import { permissionsOf } from '@offshoot/contract/role'
import type { FastifyInstance } from 'fastify'
import { userOf } from '../../../platform/http/caller.ts'
import { presentWorkspace } from './present-workspace.ts'

/** `GET /v1/me`: for users only, because an API key represents a workspace and not a person. */
export function getMe(app: FastifyInstance): void {
  app.get('/v1/me', {
    config: {
      credential: 'jwt',
      takesNarrowed: true,
      docs: { summary: 'Who the token speaks for', tag: 'Identity', status: 200, answer: me },
    },
    handler: async (request): Promise<Me> => {
      const { user, workspaces, workspaceId, scopes } = userOf(request)
      const orgs = workspaces.map(presentWorkspace)
      const org = orgs.find(({ id }) => id === workspaceId)
      if (org === undefined) throw new Error('the workspace acted in is not among the memberships')
      const permissions = permissionsOf(org.role)
      return { user, org, orgs, permissions, scopes: [...(scopes ?? ['*'])], auth_method: 'jwt' }
    },
  })
}
