import { describe, expect, it } from 'vitest'
import { hasReadAll, replayedUntil } from './replayed-until.ts'

const SINCE = new Date('2026-11-27T00:10:00Z')
const TOLD = ['2026-11-27T00:13:00Z', '2026-11-27T00:15:00Z'].map((at) => ({ recorded_at: new Date(at) }))
const until = (time: string, files = TOLD) => replayedUntil(time, SINCE, files).toISOString()

describe('the end of a recovery', () => {
  it('is the time of the last transaction', () => {
    expect([until('2026-11-27 00:14:25.123999+00\n'), until('2026-11-27 00:14:25+00')]).toEqual([
      '2026-11-27T00:14:25.123Z',
      '2026-11-27T00:14:25.000Z',
    ])
  })

  it('is never after control was told of the last file, because the clock of the server may have been ahead', () => {
    expect(until('2026-11-27 00:15:30+00')).toBe('2026-11-27T00:15:00.000Z')
  })

  it('is never before that of the backup, also without a transaction or a file', () => {
    const early = [until(''), until('2026-11-27 00:01:00+00'), until('2026-11-27 00:14:25+00', [])]
    expect(early).toEqual(Array(3).fill(SINCE.toISOString()))
  })

  it('is never guessed', () => {
    expect(() => until('2026-11-27 01:14:25+01')).toThrow('not a time')
  })
})

describe('the archive of a recovery', () => {
  const names = ['000000010000000000000001', '0000000100000000000003FF', '000000010000000100000000', '00000002.history']
  const isRead = (position: string, of = names) => hasReadAll(of, `1\t${position}\treason\n`)

  it('is read whole if the recovery has come to its last file', () => {
    expect(['0/4000028', '0/FFFFFFF8', '1/0', '2/0'].map((position) => isRead(position))).toEqual([
      false,
      false,
      true,
      true,
    ])
    expect(isRead('0/10', [])).toBe(true)
  })

  it('is never guessed', () => {
    expect(() => hasReadAll(names, '')).toThrow('has not said')
  })
})
