import { expect, it } from 'vitest'
import type { Seed } from './seed.ts'
import { Demand } from './demand.ts'

const seed = (bake: string) => ({ manifest: { bake } }) as Seed
const MINUTE_MS = 60_000

it('wants one spare of a template for ten minutes after a create, then forgets it', () => {
  const demand = new Demand()
  expect(demand.neediest(() => 0, 0)).toBeNull()
  const once = seed('a')
  demand.note(once, 0)
  expect(demand.forgetOld(9 * MINUTE_MS)).toEqual([])
  expect(demand.neediest(() => 0, 9 * MINUTE_MS)).toBe(once)
  expect(demand.neediest(() => 1, 9 * MINUTE_MS)).toBeNull()
  expect(demand.forgetOld(10 * MINUTE_MS)).toEqual(['a'])
  expect(demand.neediest(() => 0, 10 * MINUTE_MS)).toBeNull()
})

it('wants as many spares as creates within ten seconds, and at most eight', () => {
  const demand = new Demand()
  for (let i = 0; i < 3; i++) demand.note(seed('a'), i)
  expect(demand.neediest(() => 2, 10)).not.toBeNull()
  expect(demand.neediest(() => 3, 10)).toBeNull()
  expect(demand.neediest(() => 1, MINUTE_MS)).toBeNull()
  for (let i = 0; i < 100; i++) demand.note(seed('a'), i)
  expect(demand.neediest(() => 7, 100)).not.toBeNull()
  expect(demand.neediest(() => 8, 100)).toBeNull()
})

it('chooses the template that lacks the most spares', () => {
  const demand = new Demand()
  const [rare, usual] = [seed('rare'), seed('usual')]
  demand.note(rare, 0)
  for (let i = 0; i < 4; i++) demand.note(usual, 0)
  expect(demand.neediest(() => 0, 1)).toBe(usual)
  expect(demand.neediest((bake) => (bake === 'usual' ? 4 : 0), 1)).toBe(rare)
})

it('counts starts from a checkpoint for the popularity of a template and for its memory, but not for its spares', () => {
  const demand = new Demand()
  const forked = seed('a')
  demand.noteRestore(forked, 0)
  expect(demand.hasCreates('a')).toBe(false)
  expect(demand.neediest(() => 0, 1)).toBeNull()
  demand.note(forked, 1)
  expect(demand.hasCreates('a')).toBe(true)
  expect(demand.popular(3)).toEqual([])
  demand.noteRestore(forked, 2)
  expect(demand.popular(3)).toEqual([forked])
  expect(demand.neediest(() => 1, 3)).toBeNull()
  expect(demand.forgetOld(10 * MINUTE_MS + 1)).toEqual([])
  expect(demand.forgetOld(10 * MINUTE_MS + 2)).toEqual(['a'])
})
