import { PLANS } from '@offshoot/contract/plan'
import { type Limits, limits } from '@offshoot/contract/usage'
import type { FastifyInstance } from 'fastify'
import { callerOf } from '../../../platform/http/caller.ts'
import { accountOfWorkspace } from '../../orgs/identity/account-statements.ts'
import type { BillingContext } from '../model/billing-context.ts'
import { monthOf } from '../model/credit-statements.ts'
import { usd } from '../model/usd.ts'
import { holdingsOf, objectsOf } from './quota-statements.ts'

/** `GET /v1/usage/limits`: what the plan of the caller's workspace allows, and how much of it is taken. */
export function getLimits(app: FastifyInstance, { database: { pool }, config }: BillingContext): void {
  app.get('/v1/usage/limits', {
    config: {
      credential: 'key-or-jwt',
      docs: {
        summary: 'Read the limits of the plan and what is used of them',
        tag: 'Billing',
        status: 200,
        answer: limits,
      },
    },
    handler: async (request): Promise<Limits> => {
      const { workspaceId } = callerOf(request)
      const [account, [holds], [objects], [month]] = await Promise.all([
        accountOfWorkspace(pool, workspaceId, config.limits.default_plan),
        holdingsOf(pool, workspaceId),
        objectsOf(pool, workspaceId),
        monthOf(pool, workspaceId),
      ])
      if (holds === undefined || objects === undefined || month === undefined) throw new Error('a count gave no row')
      const plan = PLANS[account.plan]
      const credit = plan.monthlyCreditMicroUsd
      const used = usd(month.used_micro_usd)
      return {
        plan: account.plan,
        subscription_status: account.subscription_status,
        limits: [
          { name: 'sandboxes', used: holds.active, max: plan.sandboxes },
          { name: 'cpu', used: holds.cpu, max: plan.cpu },
          { name: 'memory_mib', used: holds.memory_mib, max: plan.memoryMib },
          // Control counts creates only for plans that limit them.
          ...(plan.createsPerHour === null
            ? []
            : [{ name: 'creates_last_hour', used: holds.created_last_hour, max: plan.createsPerHour } as const]),
          { name: 'cpu_seconds_month', used: month.cpu_seconds, max: plan.monthlyCpuSeconds },
          { name: 'usage_usd_month', used, max: maxUsd(plan.monthlyBudgetMicroUsd) },
          { name: 'credit_usd_month', used, max: maxUsd(credit === null ? null : credit + month.granted_micro_usd) },
          { name: 'volumes', used: objects.volumes, max: plan.volumes.count },
          { name: 'volume_mib_included', used: objects.volume_mib, max: plan.volumes.includedMib },
          { name: 'webhooks', used: objects.webhooks, max: plan.webhooks },
          { name: 'members', used: objects.members, max: plan.seats },
        ],
      }
    },
  })
}

const maxUsd = (microUsd: number | null) => (microUsd === null ? null : usd(microUsd))
