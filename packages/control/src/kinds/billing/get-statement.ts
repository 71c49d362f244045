import { ApiError } from '@offshoot/contract/errors'
import { PLANS } from '@offshoot/contract/plan'
import { type StatementOfMonth, statementOfMonth } from '@offshoot/contract/usage'
import type { FastifyInstance } from 'fastify'
import type { BillingContext } from './billing-context.ts'
import { callerOf } from '../../platform/http/caller.ts'
import { accountOfWorkspace } from '../orgs/account-statements.ts'
import { type StateRow, usageByState } from './metering/usage-query.ts'
import { grantedIn } from './credit-statements.ts'
import { usd } from './usd.ts'

/** `GET /v1/statements/{month}`: the cost of a month (UTC) for the caller's workspace, so far. */
export function getStatement(app: FastifyInstance, { database, config }: BillingContext): void {
  app.get('/v1/statements/:month', {
    config: {
      credential: 'key-or-jwt',
      docs: {
        summary: 'Read the statement of a month',
        tag: 'Billing',
        status: 200,
        answer: statementOfMonth,
        errors: ['notFound'],
      },
    },
    handler: async (request): Promise<StatementOfMonth> => {
      const { workspaceId } = callerOf(request)
      const { month } = request.params as { month: string }
      const { from, to } = boundsOf(month)
      const [states, [granted], account] = await Promise.all([
        usageByState(database.db, { workspaceId, from, to }),
        grantedIn(database.pool, workspaceId, from, to),
        accountOfWorkspace(database.pool, workspaceId, config.limits.default_plan),
      ])
      const used = states.reduce((sum, { cost_micro_usd }) => sum + cost_micro_usd, 0)
      const offered = (PLANS[account.plan].monthlyCreditMicroUsd ?? 0) + (granted?.micro_usd ?? 0)
      const credit = Math.min(used, offered)
      return {
        month,
        is_final: Date.now() >= Date.parse(to),
        plan: account.plan,
        currency: 'usd',
        lines: states.flatMap(lineOf),
        usage_usd: usd(used),
        credit_usd: usd(credit),
        total_usd: usd(used - credit),
      }
    },
  })
}

function lineOf({ state, seconds, cpu_seconds, cost_micro_usd }: StateRow): StatementOfMonth['lines'] {
  return state === 'ended' ? [] : [{ item: state, seconds, cpu_seconds, cost_usd: usd(cost_micro_usd) }]
}

/** @throws ApiError 404 for an invalid or future month */
function boundsOf(month: string): { from: string; to: string } {
  const [, year, number] = /^(20\d{2})-(0[1-9]|1[0-2])$/.exec(month) ?? []
  if (year === undefined || Date.parse(`${month}-01`) > Date.now()) throw new ApiError('notFound')
  const next = new Date(Date.UTC(Number(year), Number(number), 1))
  return { from: `${month}-01`, to: next.toISOString().slice(0, 10) }
}
