import pg from 'pg'

/** int2, int4, oid: a JSON number represents them exactly. */
const EXACT_NUMBERS: ReadonlySet<number> = new Set([21, 23, 26])
const FLOATS: ReadonlySet<number> = new Set([700, 701])
const JSON_TYPES: ReadonlySet<number> = new Set([114, 3802])
const BOOL = 16
/** Array types whose elements are converted like single values. */
const ELEMENT_OF: ReadonlyMap<number, number> = new Map([
  [1000, BOOL],
  [1005, 21],
  [1007, 23],
  [1021, 700],
  [1022, 701],
  [199, 114],
  [3807, 3802],
  [1009, 25],
  [1015, 1043],
  [1016, 20],
  [1231, 1700],
  [1115, 1114],
  [1185, 1184],
  [1182, 1082],
  [2951, 2950],
])
/** The driver's types list only builtins that are not arrays. */
const TEXT_ARRAY = 1009 as Parameters<typeof pg.types.getTypeParser>[0]

/**
 * Converts a server's value to JSON. Small numbers, booleans, JSON and arrays keep their type. All others stay the
 * server's text: int8 and numeric, which JSON readers would round; timestamps; bytea as `\x…`.
 */
export function jsonValue(text: string | null, type: number): unknown {
  if (text === null) return null
  if (type === BOOL) return text === 't'
  if (EXACT_NUMBERS.has(type)) return Number(text)
  // JSON cannot represent infinity and NaN.
  if (FLOATS.has(type)) return Number.isFinite(Number(text)) ? Number(text) : text
  if (JSON_TYPES.has(type)) return JSON.parse(text)
  const element = ELEMENT_OF.get(type)
  return element === undefined ? text : elements(pg.types.getTypeParser(TEXT_ARRAY)(text), element)
}

function elements(value: unknown, type: number): unknown {
  if (Array.isArray(value)) return value.map((each) => elements(each, type))
  return jsonValue(value as string | null, type)
}
