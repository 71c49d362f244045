import { ApiError } from '@offshoot/contract/errors'
import {
  confirmReconciliationBody,
  hostReconciliation,
  type HostReconciliation,
  MAX_WAITING_SHOWN,
} from '@offshoot/contract/host-reconciliation'
import type { FastifyInstance } from 'fastify'
import { isForeign } from '../../../fleet/agent-directory.ts'
import { refuse } from '../../../fleet/agent-failure.ts'
import { confirmWaiting, waitingObjects } from '../../../fleet/reconcile-statements.ts'
import { actorOf } from '../../../platform/audit/actor.ts'
import { recordAuditEvent } from '../../../platform/audit/audit-statements.ts'
import type { OrgsContext } from '../identity/orgs-context.ts'
import { transaction } from '../../../platform/db/transaction.ts'
import { parseBody } from '../../../platform/http/body.ts'
import { operatedHost, type OperatedHost } from './operated-host.ts'

const URL = '/v1/admin/hosts/:id/reconcile'
const TAG = 'Operators'

/**
 * `GET`, `POST /v1/admin/hosts/{id}/reconcile`: the removals without a recorded reason that the reconciliation of a
 * host proposes, and the operator's confirmation (docs/recovery.md). `self` names the host if there is only one.
 */
export function hostReconcileRoutes(app: FastifyInstance, control: OrgsContext): void {
  app.get(URL, {
    config: {
      credential: 'operator',
      operatorRole: 'viewer',
      docs: {
        summary: 'What reconciliation of a host removes only when it is confirmed',
        tag: TAG,
        status: 200,
        answer: hostReconciliation,
        errors: ['notFound', 'agentUnreachable'],
      },
    },
    handler: async (request) => show(control, await currentHost(operatedHost(control.fleet, request), request.id)),
  })
  app.post(URL, {
    config: {
      audit: 'own',
      credential: 'operator',
      operatorRole: 'operator',
      docs: {
        summary: 'Confirm what waits, or make a host of another cluster obey this one',
        tag: TAG,
        body: confirmReconciliationBody,
        status: 200,
        answer: hostReconciliation,
        errors: ['invalidField', 'notFound', 'conflict', 'otherCluster', 'agentUnreachable'],
      },
    },
    handler: async (request) => {
      const { count, take_over: takeOver = false } = parseBody(request, confirmReconciliationBody)
      const { fleet, database } = control
      const host = await currentHost(operatedHost(fleet, request), request.id)
      const { agent_id: agentId } = host.info
      const { clusterId } = fleet.directory
      if (isForeign(host.info, clusterId) && !takeOver) throw new ApiError('otherCluster')
      await transaction(database.pool, async (client) => {
        const confirmed = await confirmWaiting(client, agentId)
        if (confirmed.length !== count)
          throw new ApiError('conflict', { detail: `${confirmed.length} objects wait by now` })
        const details = { count, take_over: takeOver }
        await recordAuditEvent(client, actorOf(request), {
          workspaceId: null,
          action: 'host.reconciled',
          target: agentId,
          details,
        })
        if (takeOver) await host.client.obey(clusterId, request.id, true).catch(refuse)
      })
      fleet.reconcileSoon(agentId)
      return show(control, await currentHost(host, request.id))
    },
  })
}

/** Asks the host itself, because the cluster that it obeys may have changed since the last poll. */
async function currentHost({ client }: OperatedHost, requestId: string): Promise<OperatedHost> {
  return { client, info: await client.info(requestId).catch(refuse) }
}

async function show({ database, fleet }: OrgsContext, { info }: OperatedHost): Promise<HostReconciliation> {
  const rows = await waitingObjects(database.pool, info.agent_id, MAX_WAITING_SHOWN)
  const { cluster_id: obeyed = null } = info
  return {
    agent_id: info.agent_id,
    cluster: obeyed === null ? 'none' : isForeign(info, fleet.directory.clusterId) ? 'other' : 'own',
    count: rows[0]?.total ?? 0,
    waiting: rows.map(({ total: _total, since, ...row }) => ({ ...row, since: since.toISOString() })),
  }
}
