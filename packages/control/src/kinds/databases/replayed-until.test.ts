import { describe, expect, it } from 'vitest'
import { replayedUntil } from './replayed-until.ts'

const SINCE = new Date(1_000)
const segments = [
  '000000010000000000000001',
  '0000000100000000000003FF',
  '000000010000000100000000',
  '00000002.history',
].map((name, index) => ({ name, taken_at: new Date(10_000 + index) }))
const until = (position: string, of = segments) => replayedUntil(of, `1\t${position}\treason\n`, SINCE).getTime()

describe('the end of a recovery', () => {
  it('is when the last file was archived that was read', () => {
    expect([until('0/4000028'), until('0/FFFFFFF8'), until('1/0'), until('2/0')]).toEqual([
      10_000, 10_001, 10_002, 10_002,
    ])
  })

  it('is that of the backup if no file was read', () => {
    expect([until('0/10'), until('1/0', [])]).toEqual([1_000, 1_000])
  })

  it('is never guessed', () => {
    expect(() => replayedUntil(segments, '', SINCE)).toThrow('has not said')
  })
})
