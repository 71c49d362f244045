import { expect, it } from 'vitest'
import { offsetOfPosition, placeOf, statementAt, statementsOf } from './statements.ts'

it('separates statements, but not inside of strings, comments and functions', () => {
  const text = `select 1; -- not; here
    insert into t values ('a;b');
    create function f() returns int language sql as $body$ select 1; select 2; $body$;
    select 3`
  expect(statementsOf(text).map(({ sql }) => sql)).toEqual([
    'select 1',
    "insert into t values ('a;b')",
    'create function f() returns int language sql as $body$ select 1; select 2; $body$',
    'select 3',
  ])
  for (const { sql, from } of statementsOf(text)) expect(text.slice(from)).toMatch(sql.slice(0, 8))
})

it('finds no statement in nothing', () => {
  expect([statementsOf(''), statementsOf(' ; ;'), statementsOf('-- a remark')]).toEqual([[], [], []])
  expect(statementAt('', 0)).toBe(null)
})

it('finds the statement at the cursor', () => {
  const text = 'select 1; select 2; select 3'
  expect([0, 12, 28].map((position) => statementAt(text, position)?.sql)).toEqual(['select 1', 'select 2', 'select 3'])
})

it('converts positions, also after characters of two units', () => {
  expect(offsetOfPosition("select '😀', x", 13)).toBe(13)
  expect(offsetOfPosition('select x', 8)).toBe(7)
  expect(placeOf('select\n  x', 9)).toBe('line 2, column 3')
})
