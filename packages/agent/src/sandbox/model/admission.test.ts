import { ApiError } from '@offshoot/contract/errors'
import { expect, it } from 'vitest'
import { vmLimitMib } from '../../machine/vm/vm-memory.ts'
import { Admission } from './admission.ts'

const GUEST_MIB = 128
const roomFor = (count: number) => ({ commitLimitMib: count * vmLimitMib(GUEST_MIB) })
const none = { guestsMib: () => [], relieve: async () => false }

it('admits as many concurrent guests as the limit has room for, and refuses the others with 507', async () => {
  const admission = new Admission({ ...roomFor(3), ...none })
  const outcomes = await Promise.allSettled(Array.from({ length: 10 }, async () => admission.admit(GUEST_MIB)))
  const releases = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []))
  expect(releases).toHaveLength(3)
  for (const outcome of outcomes) {
    if (outcome.status === 'fulfilled') continue
    const { status, body } = outcome.reason as ApiError
    expect([status, body]).toEqual([507, { error: 'insufficient host memory for sandbox' }])
  }
  for (const release of releases) release()
  const again = [await admission.admit(GUEST_MIB), await admission.admit(GUEST_MIB), await admission.admit(GUEST_MIB)]
  await expect(admission.admit(GUEST_MIB)).rejects.toThrow(ApiError)
  again[0]?.()
  await admission.admit(GUEST_MIB)
})

it('counts the guests that have a VM', async () => {
  const guests = [GUEST_MIB]
  const admission = new Admission({ ...roomFor(2), ...none, guestsMib: () => guests })
  const release = await admission.admit(GUEST_MIB)
  expect((await admission.usage()).committedMib).toBe(2 * vmLimitMib(GUEST_MIB))
  guests.push(GUEST_MIB)
  release()
  await expect(admission.admit(GUEST_MIB)).rejects.toThrow(ApiError)
  expect(await admission.admitSpare(GUEST_MIB)).toBeNull()
})

it('evicts spares, one after the other, until there is enough memory', async () => {
  const guests = [GUEST_MIB, GUEST_MIB, GUEST_MIB]
  const relieve = async () => guests.pop() !== undefined
  const admission = new Admission({ ...roomFor(2), guestsMib: () => guests, relieve })
  expect(await admission.isShort()).toBe(true)
  await admission.admit(GUEST_MIB)
  expect(guests).toHaveLength(1)
  await expect(new Admission({ ...roomFor(0), guestsMib: () => guests, relieve }).admit(GUEST_MIB)).rejects.toThrow(
    ApiError,
  )
  expect(guests).toHaveLength(0)
})

it('refuses a guest that is larger than the host, and reserves nothing for it', async () => {
  const admission = new Admission({ commitLimitMib: Number.MAX_SAFE_INTEGER, ...none })
  await expect(admission.admit(2 ** 40)).rejects.toThrow(ApiError)
  expect((await admission.usage()).committedMib).toBe(0)
})
