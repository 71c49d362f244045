import { describe, expect, it } from 'vitest'
import { trustedChain } from './disk-chain.ts'
import { newLayerId } from './layer-id.ts'

const [low, middle, top, active, foreign] = Array.from({ length: 5 }, newLayerId) as [never, never, never, never, never]

describe('the chain of a VM that another agent process left behind', () => {
  const noted = { active, layers: [low, middle, top] }

  it.each([
    ['the noted one', noted, noted],
    [
      'the one before, because the new layer was not attached',
      { active: top, layers: [low, middle] },
      { active: top, layers: [low, middle] },
    ],
    ['flattened', { active, layers: [] }, { active, layers: [] }],
    ['partly flattened', { active, layers: [top] }, { active, layers: [top] }],
  ])('may be %s', (_what, told, expected) => {
    expect(trustedChain(noted, told)).toEqual(expected)
  })

  it.each([
    ['a layer that was not noted', { active, layers: [low, foreign, top] }],
    ['another active layer', { active: foreign, layers: [low, middle, top] }],
    ['an active layer of long ago', { active: low, layers: [] }],
    ['its layers in another order', { active, layers: [middle, low, top] }],
    ['a layer twice', { active, layers: [low, low] }],
  ])('never has %s', (_what, told) => {
    expect(trustedChain(noted, told)).toBeNull()
  })
})
