import { describe, expect, it } from 'vitest'
import { replayedUntil } from './replayed-until.ts'

const SINCE = new Date('2026-11-27T00:10:00Z')
const until = (time: string) => replayedUntil(time, SINCE).toISOString()

describe('the end of a recovery', () => {
  it('is the time of the last transaction', () => {
    expect([until('2026-11-27 00:14:25.123999+00\n'), until('2026-11-27 00:14:25+00')]).toEqual([
      '2026-11-27T00:14:25.123Z',
      '2026-11-27T00:14:25.000Z',
    ])
  })

  it('is never before that of the backup, also without a transaction', () => {
    expect([until(''), until('2026-11-27 00:01:00+00')]).toEqual([SINCE.toISOString(), SINCE.toISOString()])
  })

  it('is never guessed', () => {
    expect(() => until('2026-11-27 01:14:25+01')).toThrow('not a time')
  })
})
