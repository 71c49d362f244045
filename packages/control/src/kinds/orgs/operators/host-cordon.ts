import { ApiError } from '@offshoot/contract/errors'
import { type HostDetail, hostDetail } from '@offshoot/contract/host'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { agentIdOf } from '../../../fleet/agent-directory.ts'
import { cordonAgent, uncordonAgent } from '../../../fleet/host-state-statements.ts'
import { beginDrain, cancelDrain } from '../../../fleet/drain-statements.ts'
import { giveUpMovesFrom } from '../../../fleet/move-statements.ts'
import { actorOf } from '../../../platform/audit/actor.ts'
import { recordAuditEvent } from '../../../platform/audit/audit-statements.ts'
import { transaction } from '../../../platform/db/transaction.ts'
import type { OrgsContext } from '../identity/orgs-context.ts'
import type { Queryable } from '../../../platform/db/statement.ts'
import { hostById, presentHost } from './get-hosts.ts'
import { drainOf } from './host-drain.ts'

const URL = '/v1/admin/hosts/:id'
const TAG = 'Operators'
const JOINING = 'the host is joining: its agent has not answered yet'

/** Ends the drain, if there is one. Sandboxes whose move is not committed yet stay. */
async function uncordon(on: Queryable, id: string): Promise<{ id: string }[]> {
  const [cancelled] = await cancelDrain(on, id)
  if (cancelled !== undefined) await giveUpMovesFrom(on, id, 'an operator uncordoned the host')
  return uncordonAgent(on, id)
}

const CHANGES = {
  drain: { change: beginDrain, action: 'host.drain_begun', summary: 'Move the sandboxes of a host to other hosts' },
  cordon: { change: cordonAgent, action: 'host.cordoned', summary: 'Keep new sandboxes away from a host' },
  uncordon: { change: uncordon, action: 'host.uncordoned', summary: 'Let new sandboxes on a host again' },
} as const

/**
 * `GET /v1/admin/hosts/{id}`, `POST …/cordon`, `POST …/uncordon`, `POST …/drain`: one host, also while it is lost. While
 * it is joining, only the first answers. `self` names the host if there is only one.
 */
export function hostCordonRoutes(app: FastifyInstance, control: OrgsContext): void {
  app.get(URL, {
    config: {
      credential: 'operator',
      operatorRole: 'viewer',
      docs: { summary: 'Read one host', tag: TAG, status: 200, answer: hostDetail, errors: ['notFound'] },
    },
    handler: async (request) => findHost(control, request),
  })
  for (const [verb, { change, action, summary }] of Object.entries(CHANGES)) {
    app.post(`${URL}/${verb}`, {
      config: {
        audit: 'own',
        credential: 'operator',
        operatorRole: 'operator',
        docs: { summary, tag: TAG, status: 200, answer: hostDetail, errors: ['notFound', 'conflict'] },
      },
      handler: async (request) => {
        const { id, state } = await findHost(control, request)
        if (state === 'joining') throw new ApiError('conflict', { detail: JOINING })
        await transaction(control.database.pool, async (client) => {
          const [changed] = await change(client, id)
          if (changed === undefined) return
          const event = { workspaceId: null, action, target: id, details: {} }
          await recordAuditEvent(client, actorOf(request), event)
        })
        // The other processes read the rows within a second.
        await control.fleet.refreshHosts()
        return findHost(control, request)
      },
    })
  }
}

/** The host in the path. @throws ApiError 404 */
export async function findHost({ database, fleet }: OrgsContext, { params }: FastifyRequest): Promise<HostDetail> {
  const { id } = params as { id: string }
  const [only, ...others] = fleet.agents
  const hostId = id === 'self' && others.length === 0 ? only && agentIdOf(only) : id
  const [row] = typeof hostId === 'string' ? await hostById(database.pool, hostId) : []
  if (row === undefined) throw new ApiError('notFound')
  return { ...presentHost(row, fleet.byId(row.id)), drain: await drainOf(database.pool, row) }
}
