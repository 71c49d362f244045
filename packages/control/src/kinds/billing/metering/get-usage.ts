import { type Usage, usage, type UsageFigures, usageQuery } from '@offshoot/contract/usage'
import { ApiError } from '@offshoot/contract/errors'
import type { FastifyInstance } from 'fastify'
import { usd } from '../model/usd.ts'
import type { BillingContext } from '../model/billing-context.ts'
import { callerOf } from '../../../platform/http/caller.ts'
import { parseWith } from '../../../platform/http/body.ts'
import { usageGroups, type UsageRow, usageTotal } from './usage-query.ts'

const DAY_MS = 24 * 3600 * 1000

/** `GET /v1/usage`: the usage of the caller's workspace, grouped by purpose. */
export function getUsage(app: FastifyInstance, { database }: BillingContext): void {
  app.get('/v1/usage', {
    config: {
      credential: 'key-or-jwt',
      docs: {
        summary: 'Read what was used and what it costs',
        tag: 'Billing',
        query: usageQuery,
        status: 200,
        answer: usage,
        errors: ['invalidField'],
      },
    },
    handler: async (request): Promise<Usage> => {
      const { workspaceId } = callerOf(request)
      const { from = thisMonth(), to = tomorrow(), group_by } = parseWith(usageQuery, request.query)
      if (from > to) throw new ApiError('invalidField', { error: 'from must not be after to' })
      const range = { workspaceId, from, to }
      const [total, groups] = await Promise.all([
        usageTotal(database.db, range),
        usageGroups(database.db, range, group_by),
      ])
      return {
        from,
        to,
        group_by,
        total: present(total),
        groups: groups.map((group) => ({ key: group.key, ...present(group) })),
      }
    },
  })
}

function present({ cost_micro_usd, ...row }: UsageRow): UsageFigures {
  const { running_seconds, paused_seconds, hibernated_seconds, storage_seconds, cpu_seconds } = row
  const seconds = { running_seconds, paused_seconds, hibernated_seconds, storage_seconds, cpu_seconds }
  return { ...seconds, cost_usd: usd(cost_micro_usd), cost_micro_usd }
}

function thisMonth(): string {
  return `${new Date().toISOString().slice(0, 7)}-01`
}

function tomorrow(): string {
  return new Date(Date.now() + DAY_MS).toISOString().slice(0, 10)
}
