import type { DatabaseInfo, Offshoot } from '@offshoot/sdk'
import { queryOptions, useQuery } from '@tanstack/react-query'
import { ChevronRight, KeyRound, RefreshCw } from 'lucide-react'
import { useApi } from '../../../session/session.tsx'
import { IconButton } from '../../../ui/button.tsx'
import { QueryView } from '../../../ui/query-view.tsx'
import { readRows } from './run-sql.ts'

interface SchemaRow {
  readonly schema: string
  readonly relation: string
  readonly kind: 'table' | 'view'
  readonly columns: readonly {
    readonly name: string
    readonly type: string
    readonly key: boolean
    readonly required: boolean
  }[]
}

/** Tables and views with their columns, without those of the server and of extensions. */
const READ_SCHEMA = `
  select n.nspname as schema, c.relname as relation,
    case when c.relkind in ('v', 'm') then 'view' else 'table' end as kind,
    coalesce(json_agg(json_build_object(
      'name', a.attname, 'type', format_type(a.atttypid, a.atttypmod), 'required', a.attnotnull,
      'key', exists (select from pg_index i where i.indrelid = c.oid and i.indisprimary and a.attnum = any(i.indkey)))
      order by a.attnum) filter (where a.attname is not null), '[]') as columns
  from pg_class c
  join pg_namespace n on n.oid = c.relnamespace
  left join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
  where c.relkind in ('r', 'p', 'v', 'm', 'f') and n.nspname <> 'information_schema' and n.nspname !~ '^pg_'
    and not exists (
      select from pg_depend d where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype = 'e')
  group by c.oid, n.nspname, c.relname, c.relkind
  order by n.nspname, c.relname`

/** The service does not report what SQL changes, so it is read again after statements that may change it. */
export const schemaQuery = (api: Offshoot, database: DatabaseInfo) =>
  queryOptions({
    queryKey: ['schema of', database.id],
    queryFn: async () => readRows<SchemaRow>(api, database, READ_SCHEMA),
  })

export const fullName = ({ schema, relation }: Pick<SchemaRow, 'schema' | 'relation'>) =>
  schema === 'public' ? quoted(relation) : `${quoted(schema)}.${quoted(relation)}`

const quoted = (name: string) => (/^[a-z_][a-z0-9_]*$/.test(name) ? name : `"${name.replaceAll('"', '""')}"`)

interface SchemaBrowserProps {
  readonly database: DatabaseInfo
  readonly onInsert: (text: string) => void
  readonly onOpen: (sql: string) => void
}

/** Tables and columns. A click inserts their names. */
export function SchemaBrowser({ database, onInsert, onOpen }: SchemaBrowserProps) {
  const query = useQuery(schemaQuery(useApi(), database))
  return (
    <section aria-label="Tables" className="flex min-w-0 flex-col self-start rounded-lg border bg-surface">
      <header className="flex items-center justify-between border-b py-1 pr-1 pl-3">
        <h2 className="text-xs font-semibold">Tables</h2>
        <IconButton
          small
          label="Read the tables again"
          icon={<RefreshCw size={14} aria-hidden />}
          busy={query.isFetching}
          onClick={() => void query.refetch()}
        />
      </header>
      <div className="max-h-96 overflow-auto p-2 lg:max-h-[60dvh]">
        <QueryView query={query}>
          {(tables) =>
            tables.length === 0 ? (
              <p className="px-2 py-6 text-center text-muted">No tables yet. Make one with SQL.</p>
            ) : (
              tables.map((table) => <Table key={fullName(table)} table={table} onInsert={onInsert} onOpen={onOpen} />)
            )
          }
        </QueryView>
      </div>
    </section>
  )
}

const ENTRY = 'plaintext min-w-0 cursor-pointer truncate rounded px-1 py-0.5 text-left hover:bg-raised'

function Table({ table, onInsert, onOpen }: { readonly table: SchemaRow } & Omit<SchemaBrowserProps, 'database'>) {
  const name = fullName(table)
  return (
    <details className="group">
      <summary className="flex cursor-pointer list-none items-center gap-1 rounded px-1 py-1 hover:bg-raised">
        <ChevronRight size={14} className="shrink-0 group-open:rotate-90" aria-hidden />
        <span className="plaintext min-w-0 truncate font-mono text-xs">{name}</span>
        {table.kind === 'view' && <span className="text-xs text-muted">view</span>}
      </summary>
      <div className="ml-5 flex flex-col pb-1 text-xs">
        <button
          type="button"
          className={`${ENTRY} text-accent`}
          onClick={() => onOpen(`select * from ${name} limit 100`)}
        >
          show rows
        </button>
        {table.columns.map(({ name: column, type, key, required }) => (
          <button key={column} type="button" className={`${ENTRY} flex gap-2`} onClick={() => onInsert(quoted(column))}>
            <span className="font-mono">{column}</span>
            <span className="text-muted">
              {type}
              {!required && '?'}
            </span>
            {key && <KeyRound size={12} className="text-warn" aria-label="primary key" />}
          </button>
        ))}
      </div>
    </details>
  )
}
