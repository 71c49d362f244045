import { expect, it } from 'vitest'
import { MAX_SLOTS, Slots } from './slots.ts'

it('hands out each slot once until it is released', () => {
  const slots = new Slots()
  slots.reserve(1)
  expect([slots.take(), slots.take(), slots.take()]).toEqual([0, 2, 3])
  slots.release(2)
  expect(slots.take()).toBe(2)
})

it('says when there is none left', () => {
  const slots = new Slots()
  for (let count = 0; count < MAX_SLOTS; count++) slots.take()
  expect(slots.take()).toBeNull()
})
