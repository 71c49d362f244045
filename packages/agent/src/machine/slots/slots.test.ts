import type { SandboxId } from '@offshoot/contract/ids'
import { pino } from 'pino'
import { expect, it } from 'vitest'
import { MAX_PARKED, MAX_SLOTS, Slots } from './slots.ts'

const log = pino({ level: 'silent' })
const open = () => new Slots({ claims: null, network: null, log })

it('hands out each slot once until it is released', () => {
  const slots = open()
  expect(slots.reserve(1)).toBe(true)
  expect([slots.take(), slots.take(), slots.take()]).toEqual([0, 2, 3])
  slots.release(2)
  expect(slots.take()).toBe(2)
})

it('returns null when no slot is free', () => {
  const slots = open()
  for (let count = 0; count < MAX_SLOTS; count++) slots.take()
  expect(slots.take()).toBeNull()
})

it('reserves no slot twice, and none that does not exist', () => {
  const slots = open()
  expect([slots.reserve(7), slots.reserve(7), slots.reserve(-1), slots.reserve(MAX_SLOTS)]).toEqual([
    true,
    false,
    false,
    false,
  ])
})

const owner = (n: number) => `sandbox-${n}` as SandboxId

it('returns a parked slot to its sandbox only', () => {
  const slots = open()
  const slot = slots.take() ?? -1
  slots.park(slot, owner(0))
  expect([slots.take(), slots.reclaim(slot, owner(1)), slots.reclaim(slot, owner(0))]).toEqual([1, false, true])
  slots.release(slot)
  expect(slots.reclaim(slot, owner(0))).toBe(true)
})

it('keeps the slots of the sandboxes that hibernated last', () => {
  const slots = open()
  for (let n = 0; n <= MAX_PARKED; n++) slots.park(slots.take() ?? -1, owner(n))
  expect([slots.take(), slots.reclaim(0, owner(0)), slots.reclaim(1, owner(1))]).toEqual([0, false, true])
})

it('evicts parked slots when few others are free', () => {
  const slots = open()
  for (let n = 0; n < MAX_PARKED; n++) slots.park(slots.take() ?? -1, owner(n))
  for (let slot = MAX_PARKED; slot < MAX_SLOTS - 1; slot++) slots.reserve(slot)
  const taken = Array.from({ length: MAX_PARKED + 1 }, () => slots.take())
  expect(taken).not.toContain(null)
})

it('frees the parked slot of a deleted sandbox, but only for that sandbox', () => {
  const slots = open()
  slots.park(slots.take() ?? -1, owner(0))
  slots.releaseParked(0, owner(1))
  expect(slots.take()).toBe(1)
  slots.releaseParked(0, owner(0))
  expect(slots.take()).toBe(0)
})
