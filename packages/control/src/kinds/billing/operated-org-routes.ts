import { ApiError } from '@offshoot/contract/errors'
import {
  grantCreditBody,
  operatedOrg,
  type OperatedOrg,
  setPlacementBody,
  setPlanBody,
  setRateBody,
  suspendBody,
} from '@offshoot/contract/operator'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type pg from 'pg'
import type { z } from 'zod'
import { actorOf } from '../../platform/audit/actor.ts'
import { type OwnAction, recordAuditEvent } from '../../platform/audit/audit-statements.ts'
import { grantCredit } from './grant-credit.ts'
import type { BillingContext } from './model/billing-context.ts'
import { transaction } from '../../platform/db/transaction.ts'
import { parseBody } from '../../platform/http/body.ts'
import { setPlacement, setRate } from '../orgs/identity/account-statements.ts'
import { accountOfWorkspace } from '../orgs/identity/account-statements.ts'
import { setPlan } from './limits/set-plan.ts'
import { findOrg, type OperatedOrgRow, presentOrg, setSuspended } from '../orgs/operators/operator-queries.ts'

/** An operator's action on a workspace: one entry of {@link operatedOrgRoutes}. */
interface Operation<Schema extends z.ZodType> {
  readonly verb: string
  readonly summary: string
  readonly action: OwnAction
  readonly body: Schema
  /** Runs after the transaction. */
  readonly after?: () => Promise<void>
  readonly run: (client: pg.PoolClient, org: OperatedOrgRow, body: z.output<Schema>) => Promise<unknown>
}

/**
 * `POST /v1/admin/orgs/{id}/…`: runs each action in one transaction with its entry in the audit log, which the
 * workspace can read too. The actions are idempotent.
 */
export function operatedOrgRoutes(app: FastifyInstance, control: BillingContext): void {
  addOperation(app, control, {
    verb: 'plan',
    summary: 'Put a workspace on a plan',
    action: 'org.plan_set',
    body: setPlanBody,
    run: (client, { id }, { plan }) => setPlan(client, id, plan, 'operator'),
  })
  addOperation(app, control, {
    verb: 'suspend',
    summary: 'Let a workspace begin nothing new',
    action: 'org.suspended',
    body: suspendBody,
    run: (client, { id }) => setSuspended(client, id, true),
  })
  addOperation(app, control, {
    verb: 'unsuspend',
    summary: 'End the suspension of a workspace',
    action: 'org.unsuspended',
    body: suspendBody,
    run: (client, { id }) => setSuspended(client, id, false),
  })
  addOperation(app, control, {
    verb: 'credit',
    summary: 'Give a workspace credit for this month',
    action: 'org.credit_granted',
    body: grantCreditBody,
    run: (client, { id }, { credit_usd, reason }) =>
      grantCredit(client, id, Math.round(credit_usd * 1_000_000), reason),
  })
  addOperation(app, control, {
    verb: 'rate',
    summary: 'Give a workspace a rate limit of its own',
    action: 'org.rate_set',
    body: setRateBody,
    run: async (client, { id }, { burst = null, per_second = null }) => {
      await accountOfWorkspace(client, id, control.config.limits.default_plan)
      await setRate(client, id, burst, per_second)
    },
  })
  addOperation(app, control, {
    verb: 'placement',
    summary: 'Require labels and a zone of the hosts that a workspace uses',
    action: 'org.placement_set',
    body: setPlacementBody,
    run: async (client, { id }, { labels = {}, zone = null }) => {
      await accountOfWorkspace(client, id, control.config.limits.default_plan)
      await setPlacement(client, id, JSON.stringify(labels), zone)
    },
    // The other processes read the rows within a second.
    after: () => control.fleet.refreshHosts(),
  })
}

function addOperation<Schema extends z.ZodType>(
  app: FastifyInstance,
  control: BillingContext,
  operation: Operation<Schema>,
): void {
  const { verb, summary, body } = operation
  app.post(`/v1/admin/orgs/:id/${verb}`, {
    config: {
      audit: 'own',
      credential: 'operator',
      operatorRole: 'operator',
      docs: { summary, tag: 'Operators', body, status: 200, answer: operatedOrg, errors: ['invalidField', 'notFound'] },
    },
    handler: (request) => operate(control, operation, request),
  })
}

async function operate<Schema extends z.ZodType>(
  { config, database }: BillingContext,
  { action, body: schema, run, after }: Operation<Schema>,
  request: FastifyRequest,
): Promise<OperatedOrg> {
  const { id } = request.params as { id: string }
  const body = parseBody(request, schema)
  const answer = await transaction(database.pool, async (client) => {
    const org = await findOrg(client, id)
    if (org === undefined) throw new ApiError('notFound')
    await run(client, org, body)
    const details = body as Record<string, unknown>
    await recordAuditEvent(client, actorOf(request), { workspaceId: org.id, action, target: org.id, details })
    const changed = await findOrg(client, id)
    if (changed === undefined) throw new ApiError('notFound')
    return presentOrg(changed, config.limits.default_plan)
  })
  await after?.()
  return answer
}
