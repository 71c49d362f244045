import { ApiError } from '@offshoot/contract/errors'
import type { Plan } from '@offshoot/contract/plan'
import type { AccountRow } from '../../orgs/identity/account-statements.ts'
import type { MonthRow } from '../model/credit-statements.ts'
import type { Holdings } from './quota-statements.ts'

/** What a request needs in addition to the workspace's holdings. */
export interface Demand {
  readonly count: number
  /** vCPUs in total. */
  readonly cpu: number
  /** MiB in total. */
  readonly memoryMib: number
}

/** The statuses in which a subscription's plan applies. Without a subscription there is no status. */
const GOOD_STANDING: ReadonlySet<string> = new Set(['active', 'trialing'])

/** The reason why a workspace may create nothing at all; `null` if it may. */
export function accountRefusal(account: AccountRow, now: Date): ApiError | null {
  const { plan_source: source, subscription_status: status, exhausted_until: exhaustedUntil } = account
  // A plan that an operator set applies whatever the subscription's status is.
  if (source === 'subscription' && status !== null && !GOOD_STANDING.has(status)) {
    return new ApiError('subscriptionNotActive', { subscription_status: status })
  }
  if (exhaustedUntil !== null && exhaustedUntil > now) return new ApiError('freeQuotaExceeded')
  return null
}

/** The reason why the plan does not allow the demand; `null` if it does. */
export function planRefusal(plan: Plan, has: Holdings, demand: Demand): ApiError | null {
  if (isOver(has.created_last_hour + demand.count, plan.createsPerHour)) {
    return new ApiError('hourlyCreateLimit', {
      limit_per_hr: plan.createsPerHour,
      used_last_hr: has.created_last_hour,
    })
  }
  if (isOver(has.active + demand.count, plan.sandboxes)) {
    return new ApiError('maxSandboxes', { max: plan.sandboxes, active: has.active })
  }
  if (isOver(has.cpu + demand.cpu, plan.cpu) || isOver(has.memory_mib + demand.memoryMib, plan.memoryMib)) {
    return new ApiError('resourceQuota', {
      cpu_used: has.cpu,
      cpu_max: plan.cpu,
      memory_mb_used: has.memory_mib,
      memory_mb_max: plan.memoryMib,
    })
  }
  return null
}

/** The reason why a workspace has used up its month; `null` if it has not. */
export function monthRefusal(plan: Plan, month: MonthRow): ApiError | null {
  const { monthlyCreditMicroUsd: credit, monthlyCpuSeconds, monthlyBudgetMicroUsd } = plan
  const { used_micro_usd: used, granted_micro_usd: granted, cpu_seconds: cpuSeconds } = month
  if (credit !== null && used >= credit + granted) return new ApiError('freeQuotaExceeded')
  if (isOver(cpuSeconds + 1, monthlyCpuSeconds)) return new ApiError('monthlyCpuSeconds')
  if (isOver(used + 1, monthlyBudgetMicroUsd)) return new ApiError('monthlyBudget')
  return null
}

function isOver(value: number, max: number | null): boolean {
  return max !== null && value > max
}
