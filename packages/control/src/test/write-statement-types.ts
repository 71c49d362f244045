import type { DescribedStatement } from './describe-statement.ts'
import type { StatementModule } from './statement-modules.ts'

/** What the driver accepts as a parameter, by PostgreSQL type. */
const PARAMETERS: Readonly<Record<string, string>> = {
  bool: 'boolean',
  bytea: 'Uint8Array',
  date: 'string | Date',
  float8: 'number',
  int2: 'number',
  int4: 'number',
  int8: 'number',
  json: 'string',
  jsonb: 'string',
  numeric: 'number',
  text: 'string',
  timestamp: 'string | Date',
  timestamptz: 'string | Date',
  uuid: 'string',
  _text: 'readonly string[]',
  _int8: 'readonly number[]',
  _timestamptz: 'readonly Date[]',
  _uuid: 'readonly string[]',
}

/** What the driver makes of a column, by PostgreSQL type. The pool reads `int8` as a number (`db/database.ts`). */
const COLUMNS: Readonly<Record<string, string>> = {
  bool: 'boolean',
  bytea: 'Buffer',
  date: 'Date',
  float8: 'number',
  int2: 'number',
  int4: 'number',
  int8: 'number',
  json: 'Json',
  jsonb: 'Json',
  numeric: 'string',
  text: 'string',
  timestamp: 'Date',
  timestamptz: 'Date',
  uuid: 'string',
  _text: 'readonly string[]',
  _uuid: 'readonly string[]',
}

/** A column of this type, for example of a lock, has no value that anybody reads. */
const VOID = 'void'

/**
 * Writes a module that compiles only while the declared types of all statements agree with what the database says.
 *
 * @throws Error that names each statement which the database cannot parse, or of which a type is unknown here
 */
export function writeStatementTypes(
  modules: readonly StatementModule[],
  described: ReadonlyMap<string, DescribedStatement | Error>,
): string {
  const faults: string[] = []
  const parts = modules.map(({ path, statements }) => {
    const module = identifierOf(path)
    const lines = [...statements].map(([name, { statementName, notNull }]) => {
      try {
        const [columns, parameters] = typesOf(described.get(statementName), notNull)
        return `  Assert<Agreement<typeof ${module}.${name}, ${columns}, ${parameters}>>,`
      } catch (error) {
        faults.push(`${statementName} (${path}): ${(error as Error).message}`)
        return ''
      }
    })
    return [`import type * as ${module} from '../${path}'`, `export type Of_${module} = [\n${lines.join('\n')}\n]`]
  })
  if (faults.length > 0) throw new Error(`Statements that do not fit the schema:\n${faults.join('\n')}`)
  return [
    '// Written by statements.test.ts from what PostgreSQL says of every statement. Do not edit it.',
    `import type { Agreement, Assert, Computed, Json } from './statement-checks.ts'`,
    ...parts.map(([header]) => header),
    '',
    ...parts.map(([, body]) => `${body}\n`),
  ].join('\n')
}

function identifierOf(path: string): string {
  return path.replace(/\.ts$/, '').replaceAll(/\W/g, '_')
}

function typesOf(described: DescribedStatement | Error | undefined, notNull: readonly string[]): [string, string] {
  if (described === undefined) throw new Error('not described')
  if (described instanceof Error) throw described
  const names = new Set<string>()
  const columns = described.columns
    .filter(({ type }) => type !== VOID)
    .map(({ name, type, isNullable }) => {
      if (names.has(name)) throw new Error(`two columns are named ${name}`)
      names.add(name)
      const isSettled = notNull.includes(name)
      if (isSettled && isNullable !== true) throw new Error(`notNull need not name ${name}`)
      const known = lookUp(COLUMNS, type)
      const nullable = isNullable === true && !isSettled ? `${known} | null` : known
      return `${JSON.stringify(name)}: ${isNullable === null ? `Computed<${known}>` : nullable}`
    })
  const parameters = described.parameters.map((type) => lookUp(PARAMETERS, type))
  return [`{ ${columns.join('; ')} }`, `[${parameters.join(', ')}]`]
}

function lookUp(types: Readonly<Record<string, string>>, type: string): string {
  const known = types[type]
  if (known === undefined) throw new Error(`PostgreSQL's type ${type} is missing in write-statement-types.ts`)
  return known
}
