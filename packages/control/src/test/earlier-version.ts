/**
 * What the version before this one needs from the schema. It must be able to start on a database that this version has
 * migrated, for a rollback and for a rolling update (docs/adr/0055-upgrades.md).
 */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type pg from 'pg'
import { describeStatements } from './describe-statement.ts'
import type { StatementModule } from './statement-modules.ts'

/** Written for each release, with `OFFSHOOT_RECORD_VERSION=1`. */
const RECORD = join(import.meta.dirname, 'earlier-version.json')

interface EarlierVersion {
  /** Texts of its statements, by name. */
  readonly statements: Readonly<Record<string, string>>
  /** Columns of each table that its inserts must fill: not null, and without a default. */
  readonly required: Readonly<Record<string, readonly string[]>>
}

/** @returns what a migration took away from the version before, in sentences */
export async function missingForEarlierVersion(client: pg.Client): Promise<readonly string[]> {
  const { statements, required } = JSON.parse(await readFile(RECORD, 'utf8')) as EarlierVersion
  const all = Object.entries(statements).map(([statementName, text]) => ({ statementName, text }))
  const described = await describeStatements(client, all)
  const refused = [...described].flatMap(([name, result]) =>
    result instanceof Error ? [`its statement ${name} fails: ${result.message}`] : [],
  )
  const unfilled = Object.entries(await requiredColumns(client)).flatMap(([table, columns]) =>
    columns
      .filter((column) => required[table]?.includes(column) === false)
      .map((column) => `its inserts into ${table} do not fill ${column}`),
  )
  return [...refused, ...unfilled]
}

/** Makes this version the earlier one. */
export async function recordVersion(client: pg.Client, modules: readonly StatementModule[]): Promise<void> {
  const all = modules.flatMap((module) => [...module.statements.values()])
  const statements = Object.fromEntries(all.map(({ statementName, text }) => [statementName, text]))
  const record: EarlierVersion = { statements, required: await requiredColumns(client) }
  await writeFile(RECORD, `${JSON.stringify(record, null, 2)}\n`)
}

/** Of every table, also of one that needs no column. */
async function requiredColumns(client: pg.Client): Promise<Record<string, readonly string[]>> {
  const { rows } = await client.query<{ table: string; columns: string[] }>(
    `select t.relname as table, coalesce(array_agg(a.attname::text order by a.attname) filter (
       where a.attnotnull and not a.atthasdef and a.attidentity = ''), '{}') as columns
     from pg_class t join pg_namespace n on n.oid = t.relnamespace
       left join pg_attribute a on a.attrelid = t.oid and a.attnum > 0 and not a.attisdropped
     where n.nspname = 'public' and t.relkind in ('r', 'p') and not t.relispartition
     group by t.relname order by t.relname`,
  )
  return Object.fromEntries(rows.map(({ table, columns }) => [table, columns]))
}
