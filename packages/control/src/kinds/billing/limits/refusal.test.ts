import { PLANS } from '@offshoot/contract/plan'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { AccountRow } from '../../orgs/identity/account-statements.ts'
import { accountRefusal, planRefusal } from './refusal.ts'

const account: AccountRow = {
  plan: 'free',
  plan_source: 'default',
  subscription_status: null,
  exhausted_until: null,
  customer_id: null,
  subscription_id: null,
  synced_at: null,
}
const now = new Date('2026-11-21T12:00:00Z')

describe('accountRefusal', () => {
  it.each(['past_due', 'canceled', 'unpaid', 'incomplete_expired', 'paused'])(
    'refuses a subscription that is %s',
    (status) => {
      const refusal = accountRefusal(
        { ...account, plan: 'pro', plan_source: 'subscription', subscription_status: status },
        now,
      )
      expect(refusal?.status).toBe(402)
      expect(refusal?.body).toEqual({ error: 'subscription not active', subscription_status: status })
    },
  )

  it.each([null, 'active', 'trialing'])('takes a subscription that is %s', (status) => {
    const subscribed = { ...account, plan_source: 'subscription', subscription_status: status } as const
    expect(accountRefusal(subscribed, now)).toBeNull()
    expect(accountRefusal({ ...account, plan_source: 'operator', subscription_status: 'canceled' }, now)).toBeNull()
  })

  it('refuses while the credit is spent, and not a moment longer', () => {
    const refusal = accountRefusal({ ...account, exhausted_until: new Date(now.getTime() + 1) }, now)
    expect(refusal?.status).toBe(402)
    expect(refusal?.body.error).toBe('free quota exceeded')
    expect(refusal?.body.detail).toContain('nothing is deleted')
    expect(accountRefusal({ ...account, exhausted_until: now }, now)).toBeNull()
  })
})

describe('planRefusal', () => {
  const free = PLANS.free
  const none = { active: 0, cpu: 0, memory_mib: 0, created_last_hour: 0 }
  const one = { count: 1, cpu: 1, memoryMib: 512 }

  it('says how many were created', () => {
    const refusal = planRefusal(free, { ...none, created_last_hour: 100 }, one)
    expect(refusal?.status).toBe(429)
    expect(refusal?.body).toEqual({ error: 'hourly create limit exceeded', limit_per_hr: 100, used_last_hr: 100 })
  })

  it('says how many there are', () => {
    const refusal = planRefusal(free, { ...none, active: 9 }, { ...one, count: 2 })
    expect(refusal?.status).toBe(429)
    expect(refusal?.body).toEqual({ error: 'max sandboxes reached', max: 10, active: 9 })
  })

  it.each([
    { ...none, cpu: 10, memory_mib: 1024 },
    { ...none, cpu: 1, memory_mib: 16 * 1024 - 511 },
  ])('says what is used of vCPUs and memory: %j', (has) => {
    const refusal = planRefusal(free, has, one)
    expect(refusal?.status).toBe(429)
    expect(refusal?.body).toEqual({
      error: 'workspace resource quota exceeded',
      cpu_used: has.cpu,
      cpu_max: 10,
      memory_mb_used: has.memory_mib,
      memory_mb_max: 16 * 1024,
    })
  })

  it('never lets a sum pass a cap, and refuses nothing that fits', () => {
    const number = fc.integer({ min: 0, max: 40_000 })
    fc.assert(
      fc.property(
        fc.record({ active: number, cpu: number, memory_mib: number, created_last_hour: number }),
        fc.record({ count: fc.integer({ min: 1, max: 16 }), cpu: number, memoryMib: number }),
        (has, demand) => {
          const fits =
            has.active + demand.count <= 10 &&
            has.cpu + demand.cpu <= 10 &&
            has.memory_mib + demand.memoryMib <= 16 * 1024 &&
            has.created_last_hour + demand.count <= 100
          expect(planRefusal(free, has, demand) === null).toBe(fits)
          expect(planRefusal(PLANS['self-hosted'], has, demand)).toBeNull()
        },
      ),
    )
  })
})
