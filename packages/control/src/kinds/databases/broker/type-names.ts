import pg from 'pg'

/** The types of nearly every result, so that no query is needed for them. */
const COMMON: ReadonlyMap<number, string> = new Map(
  Object.entries(pg.types.builtins).map(([name, oid]) => [oid as number, name.toLowerCase()]),
)

/** The names of types by their OIDs. */
export async function typeNames(client: pg.ClientBase, types: readonly number[]): Promise<ReadonlyMap<number, string>> {
  const unknown = types.filter((type) => !COMMON.has(type))
  if (unknown.length === 0) return COMMON
  const { rows } = await client.query<{ oid: number; typname: string }>(
    'select oid, typname from pg_catalog.pg_type where oid = any($1::oid[])',
    [unknown],
  )
  return new Map([...COMMON, ...rows.map(({ oid, typname }) => [oid, typname] as const)])
}
