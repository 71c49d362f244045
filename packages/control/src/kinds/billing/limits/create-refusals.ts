import type { ErrorName } from '@offshoot/contract/errors'

/** What a workspace's plan, credit or subscription may refuse to whatever makes a sandbox. */
export const CREATE_REFUSALS: readonly ErrorName[] = [
  'freeQuotaExceeded',
  'creditExhausted',
  'subscriptionNotActive',
  'hourlyCreateLimit',
  'maxSandboxes',
  'resourceQuota',
  'monthlyCpuSeconds',
  'monthlyBudget',
]
