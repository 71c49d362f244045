import { describe, expect, it } from 'vitest'
import { trustedChain } from './disk-chain.ts'
import { newLayerId } from './layer-id.ts'

const [low, middle, top, active, foreign] = Array.from({ length: 5 }, newLayerId) as [never, never, never, never, never]

describe('the chain of a VM of an earlier agent process', () => {
  const noted = { active, layers: [low, middle, top] }

  it.each([
    ['the recorded one', noted, noted],
    [
      'the one before, if QEMU had not attached the new layer',
      { active: top, layers: [low, middle] },
      { active: top, layers: [low, middle] },
    ],
    ['flattened', { active, layers: [] }, { active, layers: [] }],
    ['partly flattened', { active, layers: [top] }, { active, layers: [top] }],
  ])('may be %s', (_what, told, expected) => {
    expect(trustedChain(noted, told)).toEqual(expected)
  })

  it.each([
    ['a layer that was not recorded', { active, layers: [low, foreign, top] }],
    ['another active layer', { active: foreign, layers: [low, middle, top] }],
    ['an older active layer', { active: low, layers: [] }],
    ['its layers in another order', { active, layers: [middle, low, top] }],
    ['a layer twice', { active, layers: [low, low] }],
  ])('never has %s', (_what, told) => {
    expect(trustedChain(noted, told)).toBeNull()
  })
})
