import { expect, it } from 'vitest'
import { isAnotherTable } from './table-watch.ts'

const tables = ['offshoot_3', 'offshoot_4']

it.each([
  ['delete table inet offshoot_3', false],
  ['delete table inet offshoot_30', true],
  ['delete table inet firewall', true],
  ['delete table ip offshoot_3', true],
  ['# ERROR: We lost some netlink events!', false],
  ['', false],
])('only the removal of another table needs no check of ours: %j: %s', (line, isAnother) => {
  expect(isAnotherTable(line, tables)).toBe(isAnother)
})
