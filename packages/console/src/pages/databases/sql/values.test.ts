import { expect, it } from 'vitest'
import { tabSeparated } from './values.ts'

it('makes text for a spreadsheet', () => {
  const columns = [
    { name: 'a', type: 'text' },
    { name: 'a', type: 'jsonb' },
  ]
  expect(
    tabSeparated({
      columns,
      rows: [
        ['x\t"y"', { z: [1] }],
        [null, true],
      ],
    }),
  ).toBe('a\ta\n"x\t""y"""\t"{""z"":[1]}"\n\ttrue')
})
