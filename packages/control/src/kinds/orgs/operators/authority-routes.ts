import { ApiError } from '@offshoot/contract/errors'
import { advanceAuthorityBody, fleetAuthority } from '@offshoot/contract/fleet-authority'
import type { FastifyInstance } from 'fastify'
import { advance, authorityState, beginRotation } from '../../../fleet/authority-rotation.ts'
import { actorOf } from '../../../platform/audit/actor.ts'
import { transaction } from '../../../platform/db/transaction.ts'
import { parseBody } from '../../../platform/http/body.ts'
import { wakeJob } from '../../../platform/jobs/job-statements.ts'
import type { OrgsContext } from '../identity/orgs-context.ts'

const URL = '/v1/admin/hosts/authority'
const TAG = 'Operators'

/**
 * `GET /v1/admin/hosts/authority`, `POST …/rotate`, `POST …/advance`: the authority that signs the certificates of
 * control, edges and hosts (docs/adr/0063-authority-rotation.md).
 */
export function authorityRoutes(app: FastifyInstance, control: OrgsContext): void {
  const { database, fleetAuthority: authority } = control
  app.get(URL, {
    config: {
      credential: 'operator',
      operatorRole: 'viewer',
      docs: {
        summary: 'The authority of the certificates of hosts',
        tag: TAG,
        status: 200,
        answer: fleetAuthority,
      },
    },
    handler: async () => authorityState(control),
  })
  app.post(`${URL}/rotate`, {
    config: {
      audit: 'own',
      credential: 'operator',
      operatorRole: 'operator',
      docs: {
        summary: 'Replace the authority of the certificates of hosts by a new one',
        tag: TAG,
        status: 202,
        answer: fleetAuthority,
        errors: ['conflict'],
      },
    },
    handler: async (request, reply) => {
      await transaction(database.pool, async (client) => {
        const version = await beginRotation(control, client, actorOf(request))
        if (version === null) throw new ApiError('conflict', { detail: await whyNot() })
        await wakeJob(client, 'keep-authority')
      })
      return reply.code(202).send(await authorityState(control))
    },
  })
  app.post(`${URL}/advance`, {
    config: {
      audit: 'own',
      credential: 'operator',
      operatorRole: 'operator',
      docs: {
        summary: 'Take the next step of a replacement without those that it waits for',
        tag: TAG,
        body: advanceAuthorityBody,
        status: 202,
        answer: fleetAuthority,
        errors: ['conflict', 'invalidField'],
      },
    },
    handler: async (request, reply) => {
      const { reason } = parseBody(request, advanceAuthorityBody)
      await transaction(database.pool, async (client) => {
        const from = (await authority.row(client))?.version ?? 0
        const version = await advance(client, actorOf(request), { from, reason })
        if (version === null)
          throw new ApiError('conflict', { detail: 'the authority is not being replaced (any more)' })
        await wakeJob(client, 'keep-authority')
      })
      return reply.code(202).send(await authorityState(control))
    },
  })

  async function whyNot(): Promise<string> {
    return (await authority.version()) === null
      ? 'no host has joined, so there is no authority'
      : 'the authority is being replaced already'
  }
}
