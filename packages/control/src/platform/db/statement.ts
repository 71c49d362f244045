import { traceStatement } from '@offshoot/kit/otlp/telemetry'
import type pg from 'pg'

/** Runs a statement: the pool, or one connection inside a transaction. */
export type Queryable = Pick<pg.Pool, 'query'> | Pick<pg.ClientBase, 'query'>

/** A statement. A call returns its rows. */
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
 * @param isPlannedAnew whether PostgreSQL plans each call. By default, each connection keeps the plan of its first calls.
 * Set it for a statement that gets one value or many: the best plan depends on their number and on the size of the tables.
 */
export function statement<Row, Values extends readonly unknown[]>(
  statementName: string,
  text: string,
  {
    notNull = [],
    isPlannedAnew = false,
  }: { readonly notNull?: readonly (keyof Row & string)[]; readonly isPlannedAnew?: boolean } = {},
): Statement<Row, Values> {
  const run = async (on: Queryable, ...values: Values): Promise<Row[]> => {
    const prepared = isPlannedAnew ? {} : { name: statementName }
    const query = () => (on as pg.Pool).query({ ...prepared, text, values: [...values] })
    return (await traceStatement(statementName, query)).rows as Row[]
  }
  return Object.assign(run, { statementName, text, notNull })
}
