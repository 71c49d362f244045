import { describe, expect, it } from 'vitest'
import { eventsQuery } from './event.ts'
import { logsQuery } from './log.ts'
import { once } from './page.ts'

const refusal = (
  query: unknown,
  schema: {
    safeParse(value: unknown): ReturnType<typeof eventsQuery.safeParse> | ReturnType<typeof logsQuery.safeParse>
  } = eventsQuery,
) => schema.safeParse(query).error?.issues[0]?.message

describe('queries', () => {
  it.each([
    ['1', true],
    ['true', true],
    ['yes', true],
    ['0', false],
    ['false', false],
    ['no', false],
    [undefined, false],
  ])('follow=%s is %s', (follow, expected) => {
    expect(eventsQuery.parse({ follow }).follow).toBe(expected)
  })

  it.each(['', 'on', 'TRUE', '2', ['1', '1']])('refuses follow=%j', (follow) => {
    expect(refusal({ follow })).toContain('follow must be one of')
  })

  it.each(['', '-1', '1.5', 'x', '1e3', '99999999999999999', ['1', '2']])('refuses tail=%j', (tail) => {
    expect(refusal({ tail })).toContain('tail must be')
    expect(refusal({ tail }, logsQuery)).toContain('tail must be')
  })

  it('reads since as a number or a moment', () => {
    const ms = Date.parse('2026-01-02T03:04:05.678Z')
    expect(eventsQuery.parse({ since: '17' }).since).toEqual({ kind: 'number', number: 17 })
    for (const since of [
      '2026-01-02T03:04:05.678Z',
      '2026-01-02t04:04:05.678 01:00',
      '2026-01-02T01:04:05.678901-02:00',
    ]) {
      expect(eventsQuery.parse({ since }).since).toEqual({ kind: 'time', ms })
    }
  })

  it.each(['', 'yesterday', '2026-01-02', '2026-13-02T03:04:05Z', '2026-01-02T03:04:05', '-5', ['1', '2']])(
    'refuses since=%j',
    (since) => {
      expect(refusal({ since })).toBe('since must be an event number or an RFC 3339 timestamp')
    },
  )

  it('refuses a stream that is none', () => {
    expect(logsQuery.parse({}).stream).toBe('both')
    expect(refusal({ stream: 'all' }, logsQuery)).toBe('stream must be one of stdout, stderr, both')
  })
})

describe('once', () => {
  it.each([
    [undefined, 'q required'],
    [['a', 'b'], 'q must be given once'],
  ])('refuses %j', (given, message) => {
    expect(once('q').safeParse(given).error?.issues[0]?.message).toBe(message)
  })
})
