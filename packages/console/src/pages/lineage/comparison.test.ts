import { describe, expect, it } from 'vitest'
import { groups, type Outcome, parseChanged } from './comparison.ts'

const ended = (stdout: string, exitCode = 0): Outcome => ({
  state: 'ended',
  exitCode,
  stdout,
  stderr: '',
  durationMs: 1,
})

describe('outcomes', () => {
  it('with the same output and exit code are one group, the largest first', () => {
    const outcomes = new Map([
      ['a', ended('1')],
      ['b', ended('2')],
      ['c', ended('2')],
      ['d', ended('2', 1)],
      ['e', { state: 'running' } as const],
    ])
    expect(groups(outcomes)).toEqual([['b', 'c'], ['a'], ['d'], ['e']])
  })
})

describe('changed files', () => {
  it('are those since the time, with any name', () => {
    const text = '100 5 /a b\n99 1 /old\n150 0 /x\nnonsense\n101 7 /grün\n'
    expect([...parseChanged(text, 100)]).toEqual([
      ['/a b', { size: 5, changedAt: 100 }],
      ['/x', { size: 0, changedAt: 150 }],
      ['/grün', { size: 7, changedAt: 101 }],
    ])
  })
})
