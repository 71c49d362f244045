import { expect, it } from 'vitest'
import { metricsQuery } from './sandbox-metrics.ts'

const SINCE = 'since must be an RFC 3339 timestamp within the last hour'
const STEP = 'step must be an integer from 10 to 3600'
const ago = (seconds: number) => new Date(Date.now() - seconds * 1000).toISOString()
const refusalOf = (query: unknown) => metricsQuery.safeParse(query).error?.issues.map(({ message }) => message)

it('is a minute a point, over all there is, where nothing is said', () => {
  expect(metricsQuery.parse({})).toEqual({ step: 60 })
})

it('takes a moment of the last hour in every form of RFC 3339, and clocks that differ by less than a minute', () => {
  for (const seconds of [0, 1, 3599, 3600, 3630, -30]) {
    const since = ago(seconds)
    expect(metricsQuery.parse({ since }).since).toBe(Date.parse(since))
  }
  const inBerlin = `${new Date(Date.now() + 7_200_000).toISOString().slice(0, 19)}+02:00`
  expect(metricsQuery.parse({ since: inBerlin }).since).toBe(Date.parse(inBerlin))
  // A `+` that the client did not escape arrives as a space.
  expect(metricsQuery.parse({ since: inBerlin.replace('+', ' ') }).since).toBe(Date.parse(inBerlin))
})

it.each(['10', '60', '3600', '0060'])('takes a step of %s', (step) => {
  expect(metricsQuery.parse({ step }).step).toBe(Number(step))
})

it.each([[''], ['yesterday'], ['0'], ['2026-13-01T00:00:00Z'], ['2026-01-01'], [['a', 'b']]])(
  'refuses %j as since',
  (since) => expect(refusalOf({ since })).toEqual([SINCE]),
)

it('refuses what is not of the last hour', () => {
  for (const seconds of [3700, 86_400, -120]) expect(refusalOf({ since: ago(seconds) })).toEqual([SINCE])
})

it.each([['9'], ['0'], ['-60'], ['3601'], ['1e2'], ['60.5'], ['60s'], [''], ['9'.repeat(20)], [['60', '60']]])(
  'refuses %j as step',
  (step) => expect(refusalOf({ step })?.[0]).toBe(STEP),
)
