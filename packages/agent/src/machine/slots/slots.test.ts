import { pino } from 'pino'
import { expect, it } from 'vitest'
import { MAX_SLOTS, Slots } from './slots.ts'

const log = pino({ level: 'silent' })
const open = () => new Slots({ claims: null, network: null, log })

it('hands out each slot once until it is released', () => {
  const slots = open()
  expect(slots.reserve(1)).toBe(true)
  expect([slots.take(), slots.take(), slots.take()]).toEqual([0, 2, 3])
  slots.release(2)
  expect(slots.take()).toBe(2)
})

it('says when there is none left', () => {
  const slots = open()
  for (let count = 0; count < MAX_SLOTS; count++) slots.take()
  expect(slots.take()).toBeNull()
})

it('reserves no slot twice, and none that there is not', () => {
  const slots = open()
  expect([slots.reserve(7), slots.reserve(7), slots.reserve(-1), slots.reserve(MAX_SLOTS)]).toEqual([
    true,
    false,
    false,
    false,
  ])
})
