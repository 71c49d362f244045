import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { LeaseTerm } from './lease-term.ts'

/** What may happen between an agent and control, whose requests get lost, late, repeated and out of order. */
const steps = fc.array(
  fc.oneof(
    fc.record({ kind: fc.constant('time'), ms: fc.integer({ min: 0, max: 30_000 }) }),
    // The agent answers with a challenge. Control may use it at any time, or never.
    fc.record({ kind: fc.constant('challenge') }),
    // Control notes a renewal in its database. From then on the request is on its way.
    fc.record({ kind: fc.constant('note'), which: fc.nat(), seconds: fc.integer({ min: 1, max: 60 }) }),
    fc.record({ kind: fc.constant('arrive'), which: fc.nat() }),
    fc.record({ kind: fc.constant('restart') }),
  ),
  { maxLength: 60 },
)

const at = <T>(all: readonly T[], which: number): T | undefined => all[which % Math.max(1, all.length)]

describe('the term of a lease', () => {
  it('ends on the host before control may think so, in every order of renewals', () => {
    fc.assert(
      fc.property(steps, (all) => {
        let nowMs = 0
        let term = new LeaseTerm()
        const challenges: string[] = []
        const sent: { challenge: string; seconds: number }[] = []
        // As control counts, by a clock that shows the same durations.
        let endsForControlMs = 0
        for (const step of all) {
          if (step.kind === 'time') nowMs += step.ms
          else if (step.kind === 'challenge') challenges.push(term.challenge(nowMs))
          else if (step.kind === 'restart') term = new LeaseTerm(term.endsAtMs)
          else if (step.kind === 'note') {
            const challenge = at(challenges, step.which)
            if (challenge === undefined) continue
            sent.push({ challenge, seconds: step.seconds })
            endsForControlMs = Math.max(endsForControlMs, nowMs + step.seconds * 1000)
          } else {
            const request = at(sent, step.which)
            if (request !== undefined) term.renew(request.challenge, request.seconds)
          }
          expect(term.endsAtMs).toBeLessThanOrEqual(endsForControlMs)
        }
      }),
      { numRuns: 500 },
    )
  })

  it('lasts from the challenge on', () => {
    const term = new LeaseTerm()
    const challenge = term.challenge(1_000)
    expect(term.renew(challenge, 30)).toBe(true)
    expect(term.endsAtMs).toBe(31_000)
  })

  it('is not extended by a repetition, nor by a renewal that another one has overtaken', () => {
    const term = new LeaseTerm()
    const first = term.challenge(1_000)
    const second = term.challenge(5_000)
    expect(term.renew(second, 30)).toBe(true)
    expect(term.renew(second, 60)).toBe(true)
    expect(term.renew(first, 60)).toBe(true)
    expect(term.endsAtMs).toBe(35_000)
  })

  it('gets shorter if control renews it for fewer seconds', () => {
    const term = new LeaseTerm()
    term.renew(term.challenge(1_000), 3_600)
    term.renew(term.challenge(2_000), 30)
    expect(term.endsAtMs).toBe(32_000)
  })

  it('ignores a challenge of another agent process', () => {
    const other = new LeaseTerm().challenge(1_000)
    const term = new LeaseTerm(20_000)
    expect(term.renew(other, 30)).toBe(false)
    expect(term.endsAtMs).toBe(20_000)
  })

  it('forgets the oldest challenges', () => {
    const term = new LeaseTerm()
    const [oldest = '', ...later] = Array.from({ length: 65 }, (_, ms) => term.challenge(ms))
    expect([term.renew(oldest, 30), term.renew(later.at(-1) ?? '', 30)]).toEqual([false, true])
  })
})
