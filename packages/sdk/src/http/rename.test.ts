import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { OPAQUE_FIELDS } from '../generated/facts.ts'
import { fromWire, toWire } from './rename.ts'

it('names of fields become camelCase at every depth, and snake_case again', () => {
  const wire = { memory_mb: 1, on_timeout: null, volumes: [{ read_only: true }], a_1: { b_2c: [[{ d_e: 1 }]] } }
  const own = { memoryMb: 1, onTimeout: null, volumes: [{ readOnly: true }], a1: { b2c: [[{ dE: 1 }]] } }
  expect(fromWire(wire)).toEqual(own)
  expect(toWire({ memoryMb: 1, onTimeout: null, volumes: [{ readOnly: true }] })).toEqual({
    memory_mb: 1,
    on_timeout: null,
    volumes: [{ read_only: true }],
  })
})

it.each([...OPAQUE_FIELDS])('the keys in %s belong to the user', (field) => {
  const value = { snake_key: 1, camelKey: { inner_key: 2 } }
  expect(fromWire({ [field]: value })).toEqual({ [field]: value })
  expect(toWire({ [field]: value })).toEqual({ [field]: value })
  expect(fromWire({ object_id: { [field]: value } })).toEqual({ objectId: { [field]: value } })
})

it('values stay as they are, whatever they contain', () => {
  const scalar = fc.oneof(fc.string(), fc.double({ noNaN: true }), fc.boolean(), fc.constant(null))
  fc.assert(
    fc.property(fc.array(scalar), scalar, (list, value) => {
      expect(toWire(fromWire({ list_of: list, value }))).toEqual({ list_of: list, value })
    }),
  )
  expect(fromWire('a_b')).toBe('a_b')
  expect(fromWire(null)).toBeNull()
})
