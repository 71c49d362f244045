import { expect, it } from 'vitest'
import { jsonValue } from './json-value.ts'

const types = {
  bool: 16,
  bytea: 17,
  int8: 20,
  int4: 23,
  json: 114,
  jsonb: 3802,
  float8: 701,
  numeric: 1700,
  timestamptz: 1184,
}

it.each([
  ['NULL', null, types.int4, null],
  ['true', 't', types.bool, true],
  ['false', 'f', types.bool, false],
  ['an integer', '-5', types.int4, -5],
  ['a float', '1.5e300', types.float8, 1.5e300],
  ['no number', 'NaN', types.float8, 'NaN'],
  ['infinity', '-Infinity', types.float8, '-Infinity'],
  ['an int8, which JSON would round', '9007199254740993', types.int8, '9007199254740993'],
  ['a numeric', '0.10', types.numeric, '0.10'],
  ['bytes', String.raw`\xdeadbeef`, types.bytea, String.raw`\xdeadbeef`],
  ['JSON', '{"a":[1,null]}', types.jsonb, { a: [1, null] }],
  ['the null of JSON', 'null', types.json, null],
  ['an array', '{1,NULL,3}', 1007, [1, null, 3]],
  [
    'an array of arrays',
    '{{t,f},{f,t}}',
    1000,
    [
      [true, false],
      [false, true],
    ],
  ],
  ['an array of texts', '{a,"b,c","d\\"e",NULL,"NULL"}', 1009, ['a', 'b,c', 'd"e', null, 'NULL']],
  ['an array of int8', '{9007199254740993}', 1016, ['9007199254740993']],
  ['an array of JSON', '{"{\\"a\\": 1}"}', 3807, [{ a: 1 }]],
  ['an empty array', '{}', 1007, []],
  ['any other type', '2026-01-01 00:00:00+00', types.timestamptz, '2026-01-01 00:00:00+00'],
])('%s', (_what, text, type, value) => {
  expect(jsonValue(text, type)).toEqual(value)
})
