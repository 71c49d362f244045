import type pg from 'pg'

/** Where a statement runs: the pool, or one connection inside a transaction. */
export type Queryable = Pick<pg.Pool, 'query'> | Pick<pg.ClientBase, 'query'>

/**
 * A named statement, prepared once per connection; gives its rows.
 * `Row` is what the select list says: PostgreSQL cannot tell TypeScript.
 */
// The values' types are what callers are checked against; the driver cannot know them.
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters
export function statement<Row, Values extends readonly unknown[]>(name: string, text: string) {
  return async (on: Queryable, ...values: Values): Promise<Row[]> => {
    const result = await (on as pg.Pool).query({ name, text, values: [...values] })
    return result.rows as Row[]
  }
}
