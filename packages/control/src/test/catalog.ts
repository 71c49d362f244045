import type pg from 'pg'

/** The schema according to PostgreSQL's catalogs, in a stable order. It is reviewed as a diff and never executed. */
export async function catalogOf(pool: pg.Pool): Promise<string> {
  const { rows: tables } = await pool.query<{ oid: number; name: string }>(
    `select c.oid, c.relname as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where n.nspname = 'public' and c.relkind in ('r', 'p') and not c.relispartition and c.relname not like 'kysely%' order by c.relname`,
  )
  const parts = ['-- Made by migrate.test.ts from what the migrations lead to. Change the migrations, not this file.']
  for (const { oid, name } of tables) {
    const lines = [...(await linesOf(pool, COLUMNS, oid)), ...(await linesOf(pool, CONSTRAINTS, oid))]
    parts.push(`create table "${name}" (\n${lines.map((line) => `  ${line}`).join(',\n')}\n);`)
    parts.push(...(await linesOf(pool, INDEXES, oid)).map((line) => `${line};`))
  }
  const { rows: sequences } = await pool.query<{ line: string }>(
    `select format('create sequence %I as %s;', sequencename, data_type) as line from pg_sequences
     where schemaname = 'public' order by 1`,
  )
  return `${[...parts, ...sequences.map(({ line }) => line)].join('\n\n')}\n`
}

const COLUMNS = `
  select format('%I %s', a.attname, format_type(a.atttypid, a.atttypmod))
    || case when a.attnotnull then ' not null' else '' end
    || coalesce(' default ' || pg_get_expr(d.adbin, d.adrelid), '') as line
  from pg_attribute a left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
  where a.attrelid = $1 and a.attnum > 0 and not a.attisdropped order by a.attnum`

const CONSTRAINTS = `
  select format('constraint %I %s', conname, pg_get_constraintdef(oid)) as line
  from pg_constraint where conrelid = $1 order by contype, conname`

const INDEXES = `
  select pg_get_indexdef(indexrelid) as line from pg_index
  where indrelid = $1 and not exists (select from pg_constraint where conindid = indexrelid and contype in ('p', 'u'))
  order by 1`

async function linesOf(pool: pg.Pool, query: string, table: number): Promise<string[]> {
  const { rows } = await pool.query<{ line: string }>(query, [table])
  return rows.map((row) => row.line)
}
