import type { ErrorName } from '@offshoot/contract/errors'

/** Errors with which a workspace's plan, credit or subscription may refuse every operation that creates a sandbox. */
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
