import { createdToken, createTokenBody } from '@offshoot/contract/token'
import type { FastifyInstance } from 'fastify'
import { actorOf } from '../../../platform/audit/actor.ts'
import type { OrgsContext } from './orgs-context.ts'
import { userOf } from '../../../platform/http/caller.ts'
import { parseBody } from '../../../platform/http/body.ts'
import { makeToken } from './make-token.ts'

/** `POST /v1/me/tokens`: creates a key of the current workspace. Only this answer contains its secret. */
export function postTokens(app: FastifyInstance, { database }: OrgsContext): void {
  app.post('/v1/me/tokens', {
    config: {
      audit: 'own',
      credential: 'jwt',
      idempotent: {},
      docs: {
        summary: 'Make an API key',
        tag: 'Identity',
        body: createTokenBody,
        status: 201,
        answer: createdToken,
        errors: ['invalidField', 'tooManyTokens'],
      },
    },
    handler: async (request, reply) => {
      const { workspaceId, user } = userOf(request)
      const body = parseBody(request, createTokenBody)
      const made = await makeToken(database.pool, actorOf(request), { workspaceId, userId: user.id, body })
      return reply.code(201).header('cache-control', 'no-store').send(made)
    },
  })
}
