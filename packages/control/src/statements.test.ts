import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { statement, type Statement } from './platform/db/statement.ts'
import { describeStatements } from './test/describe-statement.ts'
import { missingForEarlierVersion, recordVersion } from './test/earlier-version.ts'
import { startMigratedPostgres, type TestPostgres } from './test/postgres.ts'
import type { Agreement, Assert, Computed, Json } from './test/statement-checks.ts'
import { type StatementModule, statementModules } from './test/statement-modules.ts'
import { writeStatementTypes } from './test/write-statement-types.ts'

const moduleOf = (text: string, notNull: readonly string[] = []): readonly StatementModule[] => [
  {
    path: 'one.ts',
    statements: new Map([['one', statement<Record<string, unknown>, unknown[]>('one', text, { notNull })]]),
  },
]

describe('statements', () => {
  let postgres: TestPostgres
  let client: pg.Client

  beforeAll(async () => {
    postgres = await startMigratedPostgres()
    const { host, port, user, password } = postgres
    const address = { host, port, user, password, database: 'postgres' }
    client = new pg.Client(address)
    await client.connect()
  })

  afterAll(async () => {
    await client.end()
    await postgres.stop()
  })

  async function typesOf(modules: readonly StatementModule[]): Promise<string> {
    const all = modules.flatMap(({ statements }) => [...statements.values()])
    return writeStatementTypes(modules, await describeStatements(client, all))
  }

  const typesOfText = async (text: string, notNull?: readonly string[]) =>
    /typeof one\.one, (.*)>>,/.exec(await typesOf(moduleOf(text, notNull)))?.[1]

  it('have names of their own', async () => {
    const names = (await statementModules()).flatMap(({ statements }) =>
      [...statements.values()].map(({ statementName }) => statementName),
    )
    expect(names.length).toBeGreaterThan(300)
    expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([])
  })

  it('have the types in statement-types.ts', async () => {
    await expect(await typesOf(await statementModules())).toMatchFileSnapshot('test/statement-types.ts')
  })

  it('are named, all of them, when a migration renames a column that they use', async () => {
    await client.query('alter table workspace_accounts rename column plan_source to plan_origin')
    try {
      const modules = await statementModules()
      await expect(typesOf(modules)).rejects.toThrow(/\naccount-of \(.*column "plan_source" does not exist/)
      await expect(typesOf(modules)).rejects.toThrow(/\noverage-subscribers \(/)
      expect(await typesOfText('select plan_origin from workspace_accounts')).toBe('{ "plan_origin": string }, []')
    } finally {
      await client.query('alter table workspace_accounts rename column plan_origin to plan_source')
    }
  })

  it(
    'of the version before work with this schema, and a migration that breaks them is named',
    { tags: ['faults'] },
    async () => {
      if (process.env['OFFSHOOT_RECORD_VERSION']) await recordVersion(client, await statementModules())
      expect(await missingForEarlierVersion(client)).toEqual([])
      await client.query('alter table workspace_accounts rename column plan_source to plan_origin')
      await client.query('alter table mails add column sender text not null')
      try {
        const missing = await missingForEarlierVersion(client)
        expect(missing).toContain('its statement account-of fails: column "plan_source" does not exist')
        expect(missing).toContain('its inserts into mails do not fill sender')
      } finally {
        await client.query('alter table workspace_accounts rename column plan_origin to plan_source')
        await client.query('alter table mails drop column sender')
      }
    },
  )

  it.each([
    ['a column of a table', 'select id, parent_id from sandboxes', '{ "id": string; "parent_id": string | null }, []'],
    ['an expression', 'select count(*) as n from sandboxes', '{ "n": Computed<number> }, []'],
    ['parameters', 'delete from leases where name = $2 and creator = $1', '{  }, [number, string]'],
    ['a lock', 'select pg_advisory_xact_lock($1)', '{  }, [number]'],
    [
      'a left join',
      'select d.id, s.agent_id from databases d left join sandboxes s on s.id = d.id',
      '{ "id": string; "agent_id": string | null }, []',
    ],
    [
      'a right join',
      'select d.id, s.agent_id from databases d right join sandboxes s on s.id = d.id',
      '{ "id": string | null; "agent_id": string }, []',
    ],
    [
      'a full join in a subquery',
      'select * from (select d.id, s.agent_id from databases d full join sandboxes s on s.id = d.id offset 0) x',
      '{ "id": string | null; "agent_id": string | null }, []',
    ],
    [
      'a table on both sides of a join',
      'select a.name, b.creator from leases a left join leases b on b.name = a.holder::text',
      '{ "name": string; "creator": number | null }, []',
    ],
    [
      'a common table expression that is joined',
      `with one as materialized (select id from databases limit 1)
       select s.agent_id, one.id from sandboxes s left join one on one.id = s.id`,
      '{ "agent_id": string; "id": string | null }, []',
    ],
    [
      'a recursive query',
      `with recursive up as (
         select id, parent_id from sandboxes where id = $1
         union all select s.id, s.parent_id from sandboxes s join up on up.parent_id = s.id
       ) select s.agent_id from up join sandboxes s on s.id = up.id`,
      '{ "agent_id": string }, [string]',
    ],
    ['a partitioned table', 'select ts, code from events', '{ "ts": Date; "code": string }, []'],
    [
      'what a change returns',
      `with gone as (delete from leases returning name) update agents set url = '' from gone where id = name returning id, name`,
      '{ "id": string; "name": string }, []',
    ],
  ])('describe %s', async (_what, text, types) => {
    expect(await typesOfText(text)).toBe(types)
  })

  it('may say that a nullable column is never null, but not of another', async () => {
    const text = 'select id, parent_id from sandboxes where parent_id is not null'
    expect(await typesOfText(text, ['parent_id'])).toBe('{ "id": string; "parent_id": string }, []')
    await expect(typesOfText(text, ['id'])).rejects.toThrow('notNull need not name id')
  })

  it('are refused if two columns have one name', async () => {
    await expect(typesOfText('select id, agent_id as id from sandboxes')).rejects.toThrow('two columns are named id')
  })
})

/** The compiler runs these: an error that is expected and does not come is an error. */
interface Columns {
  plan_name: string
  until: Date | null
  used: Computed<number>
  details: Json
}
interface Row {
  readonly plan_name: 'free' | 'pro'
  readonly until: Date | null
  readonly used: number
  readonly details: { readonly a: number }
}
type Of<R, V extends readonly unknown[] = [id: string]> = Agreement<Statement<R, V>, Columns, [string]>

export type Agreeing = [
  Assert<Of<Row>>,
  Assert<Of<Row, [id: string | null]>>,
  Assert<Of<Omit<Row, 'used'> & { used: number | null }>>,
  Assert<Agreement<Statement<never, []>, {}, []>>,
]

export type Disagreeing = [
  // @ts-expect-error the column was renamed
  Assert<Of<Omit<Row, 'plan_name'> & { plan: string }>>,
  // @ts-expect-error a column is not declared
  Assert<Of<Omit<Row, 'used'>>>,
  // @ts-expect-error a column does not exist
  Assert<Of<Row & { more: string }>>,
  // @ts-expect-error the column is a text
  Assert<Of<Omit<Row, 'plan_name'> & { plan_name: number }>>,
  // @ts-expect-error the column can be null
  Assert<Of<Omit<Row, 'until'> & { until: Date }>>,
  // @ts-expect-error the column can be null, not undefined
  Assert<Of<Omit<Row, 'until'> & { until: Date | undefined }>>,
  // @ts-expect-error the statement returns columns
  Assert<Of<never>>,
  // @ts-expect-error the parameter is a text
  Assert<Of<Row, [id: number]>>,
  // @ts-expect-error the statement has one parameter
  Assert<Of<Row, [id: string, other: string]>>,
  // @ts-expect-error the statement has one parameter
  Assert<Of<Row, []>>,
]
