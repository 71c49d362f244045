import { traceStatement } from '@offshoot/kit/otlp/telemetry'
import type pg from 'pg'

/** Runs a statement: the pool, or one connection inside a transaction. */
export type Queryable = Pick<pg.Pool, 'query'> | Pick<pg.ClientBase, 'query'>

/** A named statement, prepared once per connection. A call returns its rows. */
export interface Statement<Row, Values extends readonly unknown[]> {
  (on: Queryable, ...values: Values): Promise<Row[]>
  readonly statementName: string
  readonly text: string
  /** Columns of which the text returns no null, although the schema allows one. */
  readonly notNull: readonly string[]
}

/**
 * Makes a statement. Export it: `statements.test.ts` compares `Row` and `Values` of every exported statement with what
 * PostgreSQL says of the text (docs/adr/0022-typed-statements.md).
 *
 * @param notNull nullable columns of which the text returns no null, for example because of its `where`. PostgreSQL
 * does not say so, and no test checks it.
 */
export function statement<Row, Values extends readonly unknown[]>(
  statementName: string,
  text: string,
  { notNull = [] }: { readonly notNull?: readonly (keyof Row & string)[] } = {},
): Statement<Row, Values> {
  const run = async (on: Queryable, ...values: Values): Promise<Row[]> => {
    const query = () => (on as pg.Pool).query({ name: statementName, text, values: [...values] })
    return (await traceStatement(statementName, query)).rows as Row[]
  }
  return Object.assign(run, { statementName, text, notNull })
}
