import type { Statement } from '../platform/db/statement.ts'

/** A column that is an expression. PostgreSQL does not say whether it can be null. */
export interface Computed<T> {
  readonly computed: T
}

/** A JSON column: the declaration may say what it contains. */
export interface Json {
  readonly json: true
}

type Contains<Declared, Column> = [Column] extends [Json] ? true : [Declared] extends [Column] ? true : false

/** A declared type may be narrower than its column (a union of strings, a branded id), but must know of null. */
type Fits<Declared, Column> = [Column] extends [Computed<infer T>]
  ? Contains<Exclude<Declared, null>, T>
  : [null] extends [Column]
    ? [null] extends [Declared]
      ? Contains<Exclude<Declared, null>, Exclude<Column, null>>
      : false
    : Contains<Exclude<Declared, null>, Column>

/** The keys of a row, of which a statement without columns has none. */
type KeyOf<Row> = [Row] extends [never] ? never : keyof Row

/** The columns that the row and the database do not agree on. */
type WrongColumns<Row, Columns> =
  | Exclude<KeyOf<Row>, keyof Columns>
  | Exclude<keyof Columns, KeyOf<Row>>
  | { [K in KeyOf<Row> & keyof Columns]: Fits<Row[K], Columns[K]> extends true ? never : K }[KeyOf<Row> & keyof Columns]

/** The values, `$1`, `$2`, …, that the parameters do not accept. PostgreSQL accepts a null for each. */
type WrongValues<Values, Parameters, Place extends readonly unknown[] = [unknown]> = [Values, Parameters] extends [
  readonly [infer Value, ...infer Values],
  readonly [infer Parameter, ...infer Parameters],
]
  ?
      | ([Exclude<Value, null>] extends [Parameter] ? never : `$${Place['length']}`)
      | WrongValues<Values, Parameters, [...Place, unknown]>
  : [Values, Parameters] extends [readonly [], readonly []]
    ? never
    : 'count'

/** `true` if a statement's declared types agree with the database, else the columns and values that do not. */
export type Agreement<S, Columns, Parameters extends readonly unknown[]> =
  S extends Statement<infer Row, infer Values>
    ? [WrongColumns<Row, Columns>, WrongValues<Values, Parameters>] extends [never, never]
      ? true
      : `column ${WrongColumns<Row, Columns> & string}` | `value ${WrongValues<Values, Parameters>}`
    : 'no statement'

/** Fails to compile unless it gets `true`. */
export type Assert<T extends true> = T
