import { ApiError } from '@offshoot/contract/errors'
import { chooseOrgBody, chosenOrg, type ChosenOrg } from '@offshoot/contract/identity'
import type { FastifyInstance } from 'fastify'
import type { OrgsContext } from './orgs-context.ts'
import { userOf } from '../../../platform/http/caller.ts'
import { parseBody } from '../../../platform/http/body.ts'
import { chooseWorkspace } from './membership-statements.ts'
import { presentWorkspace } from './present-workspace.ts'

/**
 * `POST /v1/me/current-org`: from the next request on, all of the user's tokens act in that workspace unless a header
 * names another. The selection belongs to the user, not to the token or session.
 */
export function postCurrentOrg(app: FastifyInstance, { database }: OrgsContext): void {
  app.post('/v1/me/current-org', {
    config: {
      credential: 'jwt',
      docs: {
        summary: 'Choose the workspace to act in',
        tag: 'Identity',
        body: chooseOrgBody,
        status: 200,
        answer: chosenOrg,
        errors: ['invalidField', 'notFound'],
      },
    },
    handler: async (request): Promise<ChosenOrg> => {
      const { user, workspaces } = userOf(request)
      const { org_id: id, slug } = parseBody(request, chooseOrgBody)
      const wanted = workspaces.find((each) => (id === undefined ? each.slug === slug : each.id === id))
      if (wanted === undefined) throw new ApiError('notFound')
      const [chosen] = await chooseWorkspace(database.pool, user.id, wanted.id)
      if (chosen === undefined) throw new ApiError('notFound')
      return { org: presentWorkspace(wanted) }
    },
  })
}
