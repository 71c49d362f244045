import type pg from 'pg'

/** Runs a statement: the pool, or one connection inside a transaction. */
export type Queryable = Pick<pg.Pool, 'query'> | Pick<pg.ClientBase, 'query'>

/**
 * A named statement, prepared once per connection. Returns its rows. `Row` must match the select list: PostgreSQL
 * cannot check it.
 */
// The compiler checks callers against the tuple's types. The driver does not know them.
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters
export function statement<Row, Values extends readonly unknown[]>(name: string, text: string) {
  return async (on: Queryable, ...values: Values): Promise<Row[]> => {
    const result = await (on as pg.Pool).query({ name, text, values: [...values] })
    return result.rows as Row[]
  }
}
