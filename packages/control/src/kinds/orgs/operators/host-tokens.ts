import { createHash, randomBytes } from 'node:crypto'
import { ApiError } from '@offshoot/contract/errors'
import { hostToken, type HostToken, hostTokenBody } from '@offshoot/contract/host'
import { isUuid } from '@offshoot/contract/ids'
import type { FastifyInstance } from 'fastify'
import { insertHostToken, joinedHost } from '../../../fleet/host-statements.ts'
import { actorOf } from '../../../platform/audit/actor.ts'
import { recordAuditEvent } from '../../../platform/audit/audit-statements.ts'
import { transaction } from '../../../platform/db/transaction.ts'
import { parseBody } from '../../../platform/http/body.ts'
import type { OrgsContext } from '../identity/orgs-context.ts'

const TOKEN_SECONDS = 60 * 60
const SECRET_BYTES = 32

/** `POST /v1/admin/hosts/tokens`: a token with which one host joins, or joins again. The database has its hash only. */
export function hostTokenRoutes(app: FastifyInstance, { database }: OrgsContext): void {
  app.post('/v1/admin/hosts/tokens', {
    config: {
      audit: 'own',
      credential: 'operator',
      operatorRole: 'operator',
      docs: {
        summary: 'Make a token with which one host can join within an hour, or join again',
        tag: 'Operators',
        body: hostTokenBody,
        status: 201,
        answer: hostToken,
        errors: ['invalidField', 'notFound'],
      },
    },
    handler: async (request, reply) => {
      const { host_id: hostId = null } = parseBody(request, hostTokenBody)
      if (hostId !== null && !(await hasJoined(hostId))) throw new ApiError('notFound')
      const token = `oht_${randomBytes(SECRET_BYTES).toString('base64url')}`
      const made = await transaction(database.pool, async (client): Promise<HostToken> => {
        const [row] = await insertHostToken(client, hashOfToken(token), TOKEN_SECONDS, hostId)
        if (row === undefined) throw new Error('insert gave no row')
        const expiresAt = row.expires_at.toISOString()
        const event = { workspaceId: null, action: 'host.token_created', target: hostId } as const
        await recordAuditEvent(client, actorOf(request), { ...event, details: { expires_at: expiresAt } })
        return { token, expires_at: expiresAt }
      })
      return reply.code(201).header('cache-control', 'no-store').send(made)
    },
  })

  async function hasJoined(id: string): Promise<boolean> {
    return isUuid(id) && (await joinedHost(database.pool, id)).length > 0
  }
}

/** The token has 256 random bits, so a plain hash suffices. */
export function hashOfToken(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}
