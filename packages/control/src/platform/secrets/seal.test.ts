import { expect, it } from 'vitest'
import { HEADER_BYTES, headerOf, onlyKey, Seal } from './seal.ts'

it('opens what it closed, and nothing that was changed or closed by another', () => {
  const seal = new Seal(onlyKey('secret'), 'mails')
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
  expect(() => new Seal(onlyKey('secret'), 'other').open(closed)).toThrow(/authenticat/)
  expect(() => new Seal(onlyKey('other'), 'mails').open(closed)).toThrow(/authenticat/)
  expect(() => seal.open(Buffer.alloc(3))).toThrow(/authenticat/)
})

it('names its key in each value, and opens values of older keys and values that name none', () => {
  const secrets = ['first', 'second', 'third']
  const keys = (version: number, known = secrets) => ({
    current: { version, secret: secrets[version] ?? '' },
    secretOf: (wanted: number) => known[wanted] ?? null,
  })
  const [unnamed, named] = [new Seal(keys(0), 'mails').close('a'), new Seal(keys(1), 'mails').close('b')]
  expect(named.subarray(0, HEADER_BYTES)).toEqual(headerOf(1))
  const newest = new Seal(keys(2), 'mails')
  expect([newest.open(unnamed), newest.open(named), newest.open(newest.close('c'))]).toEqual(['a', 'b', 'c'])
  const renamed = Buffer.concat([headerOf(2), named.subarray(HEADER_BYTES)])
  expect(() => newest.open(renamed)).toThrow(/authenticat/)
  expect(() => new Seal(keys(0, ['first']), 'mails').open(named)).toThrow(/authenticat/)
})
