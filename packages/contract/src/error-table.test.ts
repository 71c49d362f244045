import { expect, it } from 'vitest'
import { errorTable } from './error-table.ts'
import { errorNames, registeredError } from './errors.ts'

it('docs/errors.md is the registry', async () => {
  await expect(errorTable()).toMatchFileSnapshot('../../../docs/errors.md')
})

/** The rows of the specification's error table that quote a text, except for features that do not exist yet. */
const SPECIFIED: readonly (readonly [status: number, error: string, fields?: readonly string[]])[] = [
  [400, 'invalid json'],
  [402, 'free quota exceeded'],
  [402, 'monthly free credit exhausted', ['credit_usd', 'cost_usd_used']],
  [402, 'subscription not active', ['subscription_status']],
  [402, 'org limit reached'],
  [402, 'seat limit reached'],
  [403, 'account suspended'],
  [404, 'not found'],
  [404, 'sandbox not found'],
  [404, 'sandbox not found or not running'],
  [409, 'sandbox not running (paused or hibernated) — resume/wake it first'],
  [409, 'managed sandbox: delete it from the feature that owns it (Databases or Apps)'],
  [409, 'volume already exists'],
  [429, 'rate limit: 50 req/burst, 25/sec sustained per workspace'],
  [429, 'hourly create limit exceeded', ['limit_per_hr', 'used_last_hr']],
  [429, 'max sandboxes reached', ['max', 'active']],
  [429, 'workspace resource quota exceeded', ['cpu_used', 'cpu_max', 'memory_mb_used', 'memory_mb_max']],
  [429, 'monthly cpu-seconds quota exceeded'],
  [429, 'monthly budget exceeded'],
  [502, 'no available compute node'],
  [502, 'agent unreachable'],
  [507, 'insufficient host memory for sandbox'],
]

it.each(SPECIFIED)('the registry has %i %s', (status, error, fields = []) => {
  const found = errorNames.map(registeredError).find((each) => each.status === status && each.error === error)
  expect(found).toBeDefined()
  expect(found?.fields ?? []).toEqual(fields)
})

it('the registry has the three details of 401', () => {
  const details = errorNames.map(registeredError).flatMap(({ status, detail }) => (status === 401 ? [detail] : []))
  expect(details).toEqual(expect.arrayContaining(['missing bearer token', 'invalid api token', 'jwt required']))
})
