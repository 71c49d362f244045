import { ApiError } from '@offshoot/contract/errors'
import { type AccessToken, accessToken, accessTokenBody, DEFAULT_ACCESS_SECONDS } from '@offshoot/contract/identity'
import type { FastifyInstance } from 'fastify'
import { parseBody } from '../../../platform/http/body.ts'
import { userOf } from '../../../platform/http/caller.ts'
import type { OrgsContext } from './orgs-context.ts'

/**
 * `POST /v1/me/access-tokens`: a JWT for one workspace, with a short life and, if asked for, scopes. It ends with the
 * session of the caller's token. Control stores nothing of it.
 */
export function postAccessTokens(app: FastifyInstance, { accounts }: OrgsContext): void {
  app.post('/v1/me/access-tokens', {
    config: {
      credential: 'jwt',
      docs: {
        summary: 'Make a JWT for one workspace, with fewer rights',
        tag: 'Identity',
        body: accessTokenBody,
        status: 201,
        answer: accessToken,
        errors: ['invalidField', 'notFound'],
      },
    },
    handler: async (request, reply) => {
      const { user, workspaces, workspaceId, token: own } = userOf(request)
      const body = parseBody(request, accessTokenBody)
      const { org_id: orgId = workspaceId, expires_in_seconds: seconds = DEFAULT_ACCESS_SECONDS } = body
      if (!workspaces.some(({ id }) => id === orgId)) throw new ApiError('notFound')
      const scopes = body.scopes === undefined ? null : [...new Set(body.scopes)]
      const iat = Math.floor(Date.now() / 1000)
      const exp = Math.min(iat + seconds, own.expiresAt)
      const { token } = await accounts.api.signJWT({
        body: {
          payload: {
            sub: user.id,
            iat,
            exp,
            only_org: orgId,
            ...(own.sessionId !== null && { sid: own.sessionId }),
            ...(scopes !== null && { scope: scopes.join(' ') }),
          },
        },
      })
      const answer: AccessToken = { token, org_id: orgId, scopes, expires_at: new Date(exp * 1000).toISOString() }
      return reply.code(201).header('cache-control', 'no-store').send(answer)
    },
  })
}
