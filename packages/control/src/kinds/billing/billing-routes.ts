import { billingLink, type BillingSync, billingSync, checkoutBody } from '@offshoot/contract/billing'
import { ApiError } from '@offshoot/contract/errors'
import type { WorkspaceId } from '@offshoot/contract/ids'
import { PLANS } from '@offshoot/contract/plan'
import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import type { BillingContext } from './model/billing-context.ts'
import { callerOf } from '../../platform/http/caller.ts'
import { parseBody } from '../../platform/http/body.ts'
import { noteCustomer } from '../orgs/identity/account-statements.ts'
import { accountOfWorkspace } from '../orgs/identity/account-statements.ts'
import { monthOf } from './model/credit-statements.ts'
import type { Payments } from './model/payments.ts'
import { syncSubscription } from './sync-subscription.ts'
import { usd } from './model/usd.ts'

const noFields = z.object({})

/** `POST /v1/billing/checkout`, `portal` and `sync`. */
export function billingRoutes(app: FastifyInstance, control: BillingContext): void {
  const shared = { tag: 'Billing', status: 200 } as const
  const config = { credential: 'key-or-jwt', permission: 'billing:manage' } as const
  const payErrors = ['paymentsUnconfigured', 'paymentProvider'] as const
  app.post('/v1/billing/checkout', {
    config: {
      ...config,
      docs: {
        ...shared,
        summary: 'Get the page where a plan is subscribed to',
        body: checkoutBody,
        answer: billingLink,
        errors: ['invalidField', 'alreadySubscribed', ...payErrors],
      },
    },
    handler: async (request) => {
      const { workspaceId } = callerOf(request)
      const { plan } = parseBody(request, checkoutBody)
      const payments = configured(control)
      const customer = await customerOf(control, payments, workspaceId)
      // Asked of the provider: the webhook of a subscription that was just paid may still be on its way.
      const subscription = await payments.subscriptionOf(customer)
      if (subscription !== null && subscription.status !== 'canceled') throw new ApiError('alreadySubscribed')
      return { url: await payments.checkoutUrl(customer, workspaceId, plan) }
    },
  })
  app.post('/v1/billing/portal', {
    config: {
      ...config,
      docs: {
        ...shared,
        summary: 'Get the page where the subscription is managed',
        answer: billingLink,
        errors: ['noSubscription', ...payErrors],
      },
    },
    handler: async (request) => {
      const { workspaceId } = callerOf(request)
      parseBody(request, noFields)
      const payments = configured(control)
      const { customer_id: customer } = await accountIn(control, workspaceId)
      if (customer === null) throw new ApiError('noSubscription')
      return { url: await payments.portalUrl(customer) }
    },
  })
  app.post('/v1/billing/sync', {
    config: {
      ...config,
      docs: {
        ...shared,
        summary: 'Make plan and subscription equal to what the payment provider says',
        answer: billingSync,
        errors: ['paymentProvider'],
      },
    },
    handler: async (request): Promise<BillingSync> => {
      const { workspaceId } = callerOf(request)
      parseBody(request, noFields)
      await syncSubscription(control, workspaceId)
      return standing(control, workspaceId)
    },
  })
}

async function standing(control: BillingContext, workspaceId: WorkspaceId): Promise<BillingSync> {
  const account = await accountIn(control, workspaceId)
  const [month] = await monthOf(control.database.pool, workspaceId)
  const { used_micro_usd = 0, granted_micro_usd = 0 } = month ?? {}
  return {
    plan: account.plan,
    subscription_status: account.subscription_status,
    credit_usd: usd((PLANS[account.plan].monthlyCreditMicroUsd ?? 0) + granted_micro_usd),
    cost_usd_used: usd(used_micro_usd),
    synced_at: (account.synced_at ?? new Date()).toISOString(),
  }
}

function configured({ payments }: BillingContext): Payments {
  if (payments === null) throw new ApiError('paymentsUnconfigured')
  return payments
}

function accountIn({ database, config }: BillingContext, workspaceId: WorkspaceId) {
  return accountOfWorkspace(database.pool, workspaceId, config.limits.default_plan)
}

/**
 * The first checkout creates the customer. The provider creates only one for two concurrent requests. Should there be
 * two, the first one stored counts.
 */
async function customerOf(control: BillingContext, payments: Payments, workspaceId: WorkspaceId): Promise<string> {
  const { customer_id: known } = await accountIn(control, workspaceId)
  if (known !== null) return known
  const [noted] = await noteCustomer(control.database.pool, workspaceId, await payments.makeCustomer(workspaceId))
  if (noted === undefined) throw new ApiError('notFound')
  return noted.customer_id
}
