import { describe, expect, it } from 'vitest'
import { firstFreeId, idMap, NEEDED_IDS, rangesOf } from './subordinate-ids.ts'

const user = { name: 'ann', id: 1000 }

describe('the subordinate ids of a user', () => {
  it('stand in the file under its name or its id', () => {
    const text = '# ids\nbob:100000:65536\nann:165536:1000\n\n1000:300000:2000\nann:x:5\nann:1:0\n'
    expect(rangesOf(text, user)).toEqual([
      { first: 165_536, count: 1000 },
      { first: 300_000, count: 2000 },
    ])
    expect(firstFreeId(text)).toBe(302_000)
    expect(firstFreeId('')).toBe(100_000)
  })

  it('are mapped in order, over several ranges', () => {
    expect(idMap(1000, [{ first: 100_000, count: 65_536 }])?.join(' ')).toBe(
      '0 1000 1 1 100000 59999 65534 159999 1 200000 160000 4096',
    )
    const two = [
      { first: 100_000, count: 60_000 },
      { first: 500_000, count: 4096 },
    ]
    expect(idMap(7, two)?.join(' ')).toBe('0 7 1 1 100000 59999 65534 159999 1 200000 500000 4096')
    expect(
      idMap(7, [{ first: 100_000, count: 50_000 }, ...two])
        ?.slice(3, 9)
        .join(' '),
    ).toBe('1 100000 50000 50001 100000 9999')
  })

  it('are too few below what images and VMs need', () => {
    expect(idMap(1000, [{ first: 1, count: NEEDED_IDS }])).not.toBeNull()
    expect(idMap(1000, [{ first: 1, count: NEEDED_IDS - 1 }])).toBeNull()
    expect(idMap(1000, [])).toBeNull()
  })
})
