import pg from 'pg'

/** A column of a statement's result, as PostgreSQL describes it. */
export interface DescribedColumn {
  readonly name: string
  /** Name of the type in `pg_type`. */
  readonly type: string
  /** `null`: PostgreSQL does not say, because the column is an expression. */
  readonly isNullable: boolean | null
}

export interface DescribedStatement {
  /** Names of the parameters' types. */
  readonly parameters: readonly string[]
  readonly columns: readonly DescribedColumn[]
}

interface Field {
  readonly name: string
  /** OID of the table that the column comes from; 0 for an expression. */
  readonly tableID: number
  readonly columnID: number
  readonly dataTypeID: number
}

/** The parts of the driver's connection and of its queries that its types lack. */
interface Connection extends NodeJS.EventEmitter {
  parse(query: { name: string; text: string }): void
  describe(message: { type: 'S'; name: string }): void
  sync(): void
}

/** A node of `explain (verbose, format json)`. */
interface Plan {
  readonly 'Node Type'?: string
  readonly 'Parent Relationship'?: 'Outer' | 'Inner' | 'Subquery' | 'Member' | 'InitPlan' | 'SubPlan'
  readonly 'Subplan Name'?: string
  readonly 'Join Type'?: string
  readonly 'Relation Name'?: string
  readonly 'CTE Name'?: string
  readonly Alias?: string
  readonly Output?: readonly string[]
  readonly Plans?: readonly Plan[]
}

interface Origin {
  readonly table: string
  readonly is_not_null: boolean
}

interface Catalog {
  /** Names of types by OID. */
  readonly types: ReadonlyMap<number, string>
  /** By the OIDs of table and column. */
  readonly origins: ReadonlyMap<string, Origin>
}

/** The use of a table in a plan. */
interface Use {
  readonly table: string
  readonly alias: string
  /** An outer join may fill its columns with nulls. */
  readonly isOptional: boolean
}

/**
 * Parses and describes statements on the connection, without running them.
 *
 * @returns by name; the server's error for a statement that it cannot parse
 */
export async function describeStatements(
  client: pg.Client,
  statements: Iterable<{ readonly statementName: string; readonly text: string }>,
): Promise<ReadonlyMap<string, DescribedStatement | Error>> {
  // Statements of an earlier call may have the same names.
  await client.query('deallocate all')
  await client.query('set plan_cache_mode = force_generic_plan')
  const catalog = { types: await typeNames(client), origins: await originsOf(client) }
  const described = new Map<string, DescribedStatement | Error>()
  for (const { statementName: name, text } of statements) {
    described.set(name, await describe(client, catalog, name, text).catch((error: Error) => error))
  }
  return described
}

async function describe(client: pg.Client, { types, origins }: Catalog, name: string, text: string) {
  const { parameters, fields } = await parseAndDescribe(client, name, text)
  // Only the plan tells which columns an outer join may fill with nulls.
  const isPlanned = fields.some(({ tableID }) => tableID !== 0)
  const plan = isPlanned ? await planOf(client, name, parameters.length) : {}
  const uses = usesIn(plan)
  const nameOf = (oid: number) => types.get(oid) ?? `type ${oid}`
  return {
    parameters: parameters.map(nameOf),
    columns: fields.map(({ name, tableID, columnID, dataTypeID }, index) => {
      const origin = origins.get(`${tableID}.${columnID}`)
      const isNullable = origin === undefined ? null : isColumnNullable(origin, uses, plan.Output?.[index])
      return { name, type: nameOf(dataTypeID), isNullable }
    }),
  }
}

function parseAndDescribe(client: pg.Client, name: string, text: string) {
  return new Promise<{ parameters: readonly number[]; fields: readonly Field[] }>((resolve, reject) => {
    let parameters: readonly number[] = []
    let fields: readonly Field[] = []
    let failure: Error | undefined
    const note = (message: { dataTypeIDs: number[] }) => (parameters = message.dataTypeIDs)
    const query = {
      submit(connection: Connection) {
        connection.once('parameterDescription', note)
        connection.once('readyForQuery', () => {
          connection.off('parameterDescription', note)
          if (failure === undefined) resolve({ parameters, fields })
          else reject(failure)
        })
        connection.parse({ name, text })
        connection.describe({ type: 'S', name })
        connection.sync()
      },
      handleRowDescription: (message: { fields: readonly Field[] }) => (fields = message.fields),
      handleError: (error: Error) => (failure = error),
      handleReadyForQuery: () => undefined,
    }
    client.query(query as unknown as pg.Submittable)
  })
}

async function typeNames(client: pg.Client): Promise<ReadonlyMap<number, string>> {
  const { rows } = await client.query<{ oid: number; typname: string }>('select oid, typname from pg_type')
  return new Map(rows.map(({ oid, typname }) => [oid, typname]))
}

async function originsOf(client: pg.Client): Promise<ReadonlyMap<string, Origin>> {
  const { rows } = await client.query<Origin & { key: string }>(
    `select a.attrelid || '.' || a.attnum as key, c.relname as table, a.attnotnull as is_not_null
     from pg_attribute a join pg_class c on c.oid = a.attrelid where a.attnum > 0`,
  )
  return new Map(rows.map((row) => [row.key, row]))
}

/** The plan for unknown values. It runs nothing. */
async function planOf(client: pg.Client, name: string, parameters: number): Promise<Plan> {
  const nulls = parameters === 0 ? '' : `(${Array(parameters).fill('null').join(', ')})`
  const { rows } = await client.query<{ 'QUERY PLAN': [{ Plan: Plan }] }>(
    `explain (verbose, format json) execute ${pg.escapeIdentifier(name)}${nulls}`,
  )
  return rows[0]?.['QUERY PLAN'][0].Plan ?? {}
}

/** @returns `null` if the table is used twice, once of them optionally, and the plan does not say which use it is */
function isColumnNullable(origin: Origin, uses: readonly Use[], output: string | undefined): boolean | null {
  if (!origin.is_not_null) return true
  const ofTable = uses.filter(({ table }) => table === origin.table)
  const alias = /^(.+)\.[^.]+$/.exec(output ?? '')?.[1]
  const named = ofTable.filter((use) => use.alias === alias)
  const candidates = named.length > 0 ? named : ofTable
  // No use: the plan names partitions instead of their table.
  if (candidates.length === 0) return uses.some(({ isOptional }) => isOptional) ? null : false
  const [first, ...others] = candidates.map(({ isOptional }) => isOptional)
  return others.every((each) => each === first) ? (first ?? null) : null
}

/** All uses of tables whose columns can reach the result. Subqueries in expressions cannot. */
function usesIn(root: Plan): readonly Use[] {
  const ctes = new Map<string, Plan>()
  const uses: Use[] = []
  const visit = (plan: Plan, isOptional: boolean) => {
    const { 'Relation Name': table, 'CTE Name': cte, 'Join Type': join, Plans: plans = [] } = plan
    for (const each of plans) {
      const name = each['Subplan Name']
      if (name?.startsWith('CTE ') === true) ctes.set(name.slice('CTE '.length), each)
    }
    if (table !== undefined) uses.push({ table, alias: plan.Alias ?? table, isOptional })
    // A recursive query scans its own rows, in its own plan.
    const within = cte === undefined || plan['Node Type'] === 'WorkTable Scan' ? undefined : ctes.get(cte)
    if (within !== undefined) visit(within, isOptional)
    for (const each of plans) {
      const side = each['Parent Relationship']
      if (side === 'InitPlan' || side === 'SubPlan') continue
      visit(each, isOptional || isFilled(join, side))
    }
  }
  visit(root, false)
  return uses
}

/** Whether an outer join may fill the columns of that side with nulls. */
function isFilled(join: string | undefined, side: string | undefined): boolean {
  if (join === 'Full') return true
  if (join === 'Left' || join === 'Anti') return side === 'Inner'
  return (join === 'Right' || join === 'Right Anti') && side === 'Outer'
}
