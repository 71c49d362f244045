import { expect, it } from 'vitest'
import { Seal } from './seal.ts'

it('opens what it closed, and nothing that was changed or closed by another', () => {
  const seal = new Seal('secret', 'mails')
  const closed = seal.close('a token: ünïcode')
  expect(seal.open(closed)).toBe('a token: ünïcode')
  expect(closed.includes('token')).toBe(false)
  expect(seal.close('a token: ünïcode')).not.toEqual(closed)
  expect(seal.open(seal.close(''))).toBe('')
  for (let i = 0; i < closed.length; i++) {
    const changed = Buffer.from(closed)
    changed.writeUInt8(changed.readUInt8(i) ^ 1, i)
    expect(() => seal.open(changed)).toThrow(/authenticat/)
  }
  expect(() => new Seal('secret', 'other').open(closed)).toThrow(/authenticat/)
  expect(() => new Seal('other', 'mails').open(closed)).toThrow(/authenticat/)
  expect(() => seal.open(Buffer.alloc(3))).toThrow(/authenticat/)
})
