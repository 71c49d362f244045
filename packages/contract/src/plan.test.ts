import { describe, expect, it } from 'vitest'
import { planName, PLANS } from './plan.ts'
import { NO_LIMITS, sandboxLimits, type SandboxLimits } from './sandbox-limits.ts'

const SMALLER_FIRST = ['free', 'pro', 'team', 'enterprise'] as const

describe('the limits of a plan’s sandboxes', () => {
  it.each(planName.options)('are ones that an agent takes: %s', (plan) => {
    expect(sandboxLimits.parse(PLANS[plan].sandboxLimits)).toEqual(PLANS[plan].sandboxLimits)
  })

  it('never shrink with a larger plan', () => {
    const fields = Object.keys(NO_LIMITS) as (keyof SandboxLimits)[]
    for (const [at, plan] of SMALLER_FIRST.slice(1).entries()) {
      const smaller = PLANS[SMALLER_FIRST[at] ?? 'free'].sandboxLimits
      for (const field of fields) {
        expect(PLANS[plan].sandboxLimits[field] ?? Infinity).toBeGreaterThanOrEqual(smaller[field] ?? Infinity)
      }
    }
  })

  it('are none where the operator is the customer', () => {
    expect(PLANS['self-hosted'].sandboxLimits).toEqual(NO_LIMITS)
  })
})
