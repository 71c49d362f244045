import { ApiError } from '@offshoot/contract/errors'
import { type PlanName, PLANS } from '@offshoot/contract/plan'
import { type StatementOfMonth, statementOfMonth } from '@offshoot/contract/usage'
import type { FastifyInstance } from 'fastify'
import type { BillingContext } from './model/billing-context.ts'
import { callerOf } from '../../platform/http/caller.ts'
import { accountOfWorkspace, planChanges } from '../orgs/identity/account-statements.ts'
import { type StateRow, usageByState } from './metering/usage-query.ts'
import { grantedIn } from './model/credit-statements.ts'
import { usd } from './model/usd.ts'

const DAY_MS = 24 * 3_600_000

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
      const [[granted], account, changes] = await Promise.all([
        grantedIn(database.pool, workspaceId, from, to),
        accountOfWorkspace(database.pool, workspaceId, config.limits.default_plan),
        planChanges(database.pool, workspaceId),
      ])
      const parts = []
      // A plan that held in two parts of the month gives its credit once.
      const left = new Map<PlanName, number>()
      for (const part of partsOf(from, to, changes, account.plan)) {
        const states = await usageByState(database.db, { workspaceId, ...part })
        const used = costOf(states)
        const offered = left.get(part.plan) ?? PLANS[part.plan].monthlyCreditMicroUsd ?? 0
        const credit = Math.min(used, offered)
        left.set(part.plan, offered - credit)
        parts.push({ ...part, states, used, credit })
      }
      const states = sumByState(parts.flatMap((part) => part.states))
      const used = costOf(states)
      const paid = parts.reduce((sum, { credit }) => sum + credit, granted?.micro_usd ?? 0)
      const credit = Math.min(used, paid)
      return {
        month,
        is_final: Date.now() >= Date.parse(to),
        plan: planAt(Date.parse(to) - 1, changes, account.plan),
        ...(parts.length > 1 && {
          plans: parts.map((part) => ({
            plan: part.plan,
            from: part.from,
            usage_usd: usd(part.used),
            credit_usd: usd(part.credit),
          })),
        }),
        currency: 'usd',
        lines: states.flatMap(lineOf),
        usage_usd: usd(used),
        credit_usd: usd(credit),
        total_usd: usd(used - credit),
      }
    },
  })
}

interface Change {
  readonly plan: PlanName
  readonly at: Date
}

/** Days of a month, from `from` to before `to` (`YYYY-MM-DD`), that began with the same plan. */
interface Part {
  readonly plan: PlanName
  readonly from: string
  readonly to: string
}

/** @param fallback the plan of a workspace without recorded changes */
function partsOf(from: string, to: string, changes: readonly Change[], fallback: PlanName): readonly Part[] {
  const parts: Part[] = []
  for (let ms = Date.parse(from); ms < Math.min(Date.parse(to), Date.now()); ms += DAY_MS) {
    const plan = planAt(ms, changes, fallback)
    const day = new Date(ms).toISOString().slice(0, 10)
    const last = parts.at(-1)
    if (last?.plan === plan) continue
    if (last !== undefined) parts[parts.length - 1] = { ...last, to: day }
    parts.push({ plan, from: day, to })
  }
  return parts
}

/** Before the first recorded change, the workspace had the plan that it began with. */
function planAt(ms: number, changes: readonly Change[], fallback: PlanName): PlanName {
  return (changes.findLast(({ at }) => at.getTime() <= ms) ?? changes[0])?.plan ?? fallback
}

function costOf(states: readonly StateRow[]): number {
  return states.reduce((sum, { cost_micro_usd }) => sum + cost_micro_usd, 0)
}

/** One row for each state, in the order of their names. */
function sumByState(rows: readonly StateRow[]): readonly StateRow[] {
  const sums = new Map<StateRow['state'], StateRow>()
  for (const row of rows) {
    const sum = sums.get(row.state) ?? { state: row.state, seconds: 0, cpu_seconds: 0, cost_micro_usd: 0 }
    sums.set(row.state, {
      state: row.state,
      seconds: sum.seconds + row.seconds,
      cpu_seconds: sum.cpu_seconds + row.cpu_seconds,
      cost_micro_usd: sum.cost_micro_usd + row.cost_micro_usd,
    })
  }
  return [...sums.values()].toSorted((a, b) => (a.state < b.state ? -1 : 1))
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
