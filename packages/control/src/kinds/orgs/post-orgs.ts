import { createOrgBody } from '@offshoot/contract/org'
import { workspaceSummary, type WorkspaceSummary } from '@offshoot/contract/identity'
import type { FastifyInstance } from 'fastify'
import { actorOf } from '../../platform/audit/actor.ts'
import type { OrgsContext } from './identity/orgs-context.ts'
import { userOf } from '../../platform/http/caller.ts'
import { parseBody } from '../../platform/http/body.ts'
import { makeOrg } from './make-org.ts'

/**
 * `POST /v1/orgs`: creates a workspace with the caller as its owner. The caller's current workspace does not change.
 */
export function postOrgs(app: FastifyInstance, control: OrgsContext): void {
  app.post('/v1/orgs', {
    config: {
      audit: 'own',
      credential: 'jwt',
      idempotent: {},
      docs: {
        summary: 'Make a workspace',
        tag: 'Workspaces',
        body: createOrgBody,
        status: 201,
        answer: workspaceSummary,
        errors: ['invalidField', 'orgLimitReached', 'slugTaken'],
      },
    },
    handler: async (request, reply) => {
      const body = parseBody(request, createOrgBody)
      const made = await makeOrg(control, actorOf(request), userOf(request).user.id, body)
      return reply.code(201).send({ ...made, role: 'owner' } satisfies WorkspaceSummary)
    },
  })
}
