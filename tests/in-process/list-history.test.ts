import { beforeEach, describe, expect, it } from 'vitest'
import { ListHistory, type Outcome } from '../suites/fleet/list-history.ts'

describe('a history of lists to which clients append', () => {
  let history: ListHistory
  beforeEach(() => {
    history = new ListHistory()
  })

  const append = (value: string, outcome: Outcome = 'acknowledged') =>
    history.append('list', value, async () => outcome)
  const read = (...values: string[]) => history.read('list', async () => values)

  it('is right if reads have what was acknowledged, in that order, and perhaps what nobody knows of', async () => {
    await append('a')
    await append('lost answer', 'unknown')
    await append('b')
    await read('a', 'b')
    await read('a', 'b', 'lost answer')
    await history.read('list', async () => null)
    expect(history.flaws).toEqual([])
    expect(history.counts).toEqual({ acknowledged: 2, refused: 0, unknown: 1, reads: 2, unprotected: 0 })
  })

  it('allows a read beside an append to have it or not', async () => {
    await history.append('list', 'a', async () => {
      await read()
      await read('a')
      return 'acknowledged'
    })
    expect(history.flaws).toEqual([])
  })

  it.each([
    ['a lost append', ['b'], 'list: lost a, which was acknowledged'],
    ['an append that happened twice', ['a', 'b', 'a'], 'list: a value twice: a,b,a'],
    ['a refused append', ['a', 'b', 'refused'], 'list: refused, which nobody has appended'],
    ['another order', ['b', 'a'], 'list: b before a, which was acknowledged first'],
  ])('finds %s', async (_, values, flaw) => {
    await append('a')
    await append('b')
    await append('refused', 'refused')
    await read(...values)
    expect(history.flaws).toContain(flaw)
  })

  it('finds a value that a later read does not have, also if nobody knows what became of its append', async () => {
    await append('a', 'unknown')
    await read('a')
    await read()
    expect(history.flaws).toEqual(['list: read a and later '])
  })

  it('expects in a list that was restored what survives, and allows the rest to be lost', async () => {
    for (const value of ['a', 'b', 'c']) await append(value)
    await read('a', 'b', 'c')
    expect(history.restored('list', (value) => value !== 'c')).toBe(1)
    await read('a', 'b')
    await append('d')
    await read('a', 'b', 'd')
    expect(history.flaws).toEqual([])
    expect(history.counts).toMatchObject({ acknowledged: 4, unprotected: 1 })
    await read('a', 'd')
    expect(history.flaws).toEqual(['list: lost b, which was acknowledged', 'list: read a,b,d and later a,d'])
  })

  it('expects in a copy what was acknowledged before it, and allows what was begun before its end', async () => {
    await append('a')
    await history.append('list', 'during', async () => {
      await history.copy('list', async () => ['copy', 'other'])
      return 'acknowledged'
    })
    await append('after')
    await history.read('copy', async () => ['a'])
    await history.read('other', async () => ['a', 'during'])
    expect(history.flaws).toEqual([])
    await history.read('copy', async () => [])
    await history.read('other', async () => ['a', 'during', 'after'])
    expect(history.flaws).toEqual([
      'copy: lost a, which was acknowledged',
      'copy: read a and later ',
      'other: after, which nobody has appended',
    ])
  })

  it('shows the last lines, and forgets a list that is gone', async () => {
    await append('a')
    history.forget('list')
    await read()
    expect(history.flaws).toEqual([])
    expect(
      history
        .tail(2)
        .split('\n')
        .map((line) => line.slice(13)),
    ).toEqual(['list: gone', 'list: read 0 values, the last none'])
  })
})
