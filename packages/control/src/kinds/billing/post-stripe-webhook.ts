import { ApiError } from '@offshoot/contract/errors'
import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import type { BillingContext } from './model/billing-context.ts'
import { accountOfCustomer } from '../orgs/identity/account-statements.ts'
import { syncSubscription } from './sync-subscription.ts'

/**
 * `POST /v1/webhooks/stripe`: a customer has changed. Control asks the provider for the current state, so that repeated
 * or reordered events do no harm. If the provider cannot be asked, control answers 502, and the provider sends the
 * event again.
 */
export function postStripeWebhook(app: FastifyInstance, control: BillingContext): void {
  app.post('/v1/webhooks/stripe', {
    config: {
      docs: {
        summary: 'Take an event of the payment provider, signed by it',
        tag: 'Billing',
        status: 200,
        answer: z.object({ ok: z.literal(true) }),
        errors: ['invalidSignature', 'paymentsUnconfigured', 'paymentProvider'],
      },
    },
    handler: async ({ body, headers }) => {
      if (control.payments === null) throw new ApiError('paymentsUnconfigured')
      const { 'stripe-signature': signature } = headers
      const raw = Buffer.isBuffer(body) ? body : Buffer.alloc(0)
      const customer = control.payments.customerOfEvent(raw, typeof signature === 'string' ? signature : '')
      const [account] = customer === null ? [] : await accountOfCustomer(control.database.pool, customer)
      if (account !== undefined) await syncSubscription(control, account.workspace_id)
      return { ok: true }
    },
  })
}
