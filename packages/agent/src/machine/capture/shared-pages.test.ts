import { describe, expect, it } from 'vitest'
import { run } from '../../test/memory-mappers.ts'
import { pagesOfRuns } from './shared-pages.ts'

const found = (
  shared: string,
  ...rest: Parameters<typeof pagesOfRuns> extends [unknown, ...infer Rest] ? Rest : never
) => pagesOfRuns(Uint8Array.from(shared, Number), ...rest).join('')

describe('the shared pages of runs', () => {
  it('are in the order of their file, without the pages between the runs', () => {
    const runs = [run(1, 2), run(5, 3), run(10, 2)]
    expect(found('111101111110', runs, { leastPages: 1 })).toBe('1111110')
  })

  it('are none in stretches that are not worth a mapping, also where two runs meet in the file', () => {
    expect(found('110111011110', [run(0, 12)], { leastPages: 3 })).toBe('000111011110')
    expect(found('110000001100', [run(0, 2), run(8, 2)], { leastPages: 3 })).toBe('0000')
  })

  it('are those of the longest stretches if there are too many', () => {
    expect(found('100110111100', [run(0, 12)], { leastPages: 1, maxStretches: 1 })).toBe('000000111100')
  })
})
