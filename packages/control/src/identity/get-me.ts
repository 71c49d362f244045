import { me, type Me } from '@offshoot/contract/identity'
import type { FastifyInstance } from 'fastify'
import { callerOf } from '../http/admission.ts'

/** `GET /v1/me`, for users only: an API key speaks for a workspace, not for a person. */
export function getMe(app: FastifyInstance): void {
  app.get('/v1/me', {
    config: {
      credential: 'jwt',
      docs: { summary: 'Who the token speaks for', tag: 'Identity', status: 200, answer: me },
    },
    handler: async (request): Promise<Me> => {
      const caller = callerOf(request)
      if (caller.method !== 'jwt') throw new Error('a key passed a route that takes tokens only')
      const org = caller.workspaces.find(({ id }) => id === caller.workspaceId)
      if (org === undefined) throw new Error('the workspace acted in is not among the memberships')
      return { user: caller.user, org, orgs: [...caller.workspaces], scopes: ['*'], auth_method: 'jwt' }
    },
  })
}
