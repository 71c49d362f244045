import type {
  BranchDatabaseBody,
  CreateDatabaseBody,
  Database as DatabaseInfo,
  DatabaseBackup,
  DatabaseConnection,
  DatabaseStats,
  DatabaseSummary,
  LogLine,
  PatchDatabaseBody,
  RestoreDatabaseBody,
} from '../generated/models.ts'
import type { List } from '../http/list.ts'
import { Resource } from '../http/resource.ts'
import type { QueryOptions } from '../http/routes.ts'
import { idOf, type Named, Scope } from '../http/scope.ts'
import type { CallOptions, Transport } from '../http/transport.ts'
import { followLogs, type GapOptions, type LogsOptions, readLogs } from '../sandboxes/records.ts'

export type { DatabaseInfo }

export type CreateDatabaseOptions = CreateDatabaseBody & CallOptions
export type BranchDatabaseOptions = BranchDatabaseBody & CallOptions
export type RestoreDatabaseOptions = RestoreDatabaseBody & CallOptions
export type ChangeDatabaseOptions = PatchDatabaseBody & CallOptions

export interface QueryDatabaseOptions extends Omit<CallOptions, 'idempotencyKey'> {
  /** Default: `app`. */
  readonly database?: string | undefined
  /** Milliseconds after which the server ends a statement, at most 600,000. Default: 30,000. */
  readonly statementTimeoutMs?: number | undefined
  /** Rows of each statement, at most 100,000. Default: 1,000. */
  readonly maxRows?: number | undefined
}

/** A statement with the values of `$1`, `$2` and so on. */
export interface Statement {
  readonly sql: string
  readonly params?: readonly unknown[] | undefined
}

/** What a statement has returned. `bigint` and `numeric` are strings, because numbers would round them. */
export interface QueryResult<Row> {
  readonly rows: Row[]
  readonly columns: readonly { readonly name: string; readonly type: string }[]
  /** There are more rows than `maxRows`, or than fit into one answer. */
  readonly isTruncated: boolean
  readonly durationMs: number
}

interface WireResult {
  readonly columns: QueryResult<never>['columns']
  readonly rows: readonly unknown[][]
  readonly truncated: boolean
  readonly duration_ms: number
}

/** A PostgreSQL. `await using` deletes a database that the program has made; one from `get` stays. */
export class Database extends Resource<'GET /v1/databases/{id}', DatabaseInfo> {
  readonly id: string
  readonly backups: DatabaseBackups

  /** @internal */
  constructor(scope: Scope, info: DatabaseInfo, isOwned: boolean) {
    const own = scope.with({ id: info.id })
    super('GET /v1/databases/{id}', 'DELETE /v1/databases/{id}', { scope: own, info, isOwned })
    this.id = info.id
    this.backups = new DatabaseBackups(own)
  }

  /** Changes the label, the sleep or the size of the disk, which only grows. @throws BadRequestError */
  async update(options: ChangeDatabaseOptions): Promise<this> {
    return this.become(await this.scope.post('PATCH /v1/databases/{id}', options))
  }

  /** The addresses with the credentials as they are now. */
  async connection(options: CallOptions = {}): Promise<DatabaseConnection> {
    return this.scope.get('GET /v1/databases/{id}/connection', options)
  }

  /** Makes another password and broker token. Connections end. */
  async resetCredentials(options: CallOptions = {}): Promise<this> {
    return this.become(await this.scope.call('POST /v1/databases/{id}/reset-credentials', options))
  }

  /** Makes another database with all data of this instant, or of a backup (`at`). @throws NotFoundError */
  async branch(options: BranchDatabaseOptions = {}): Promise<Database> {
    return new Database(this.scope, await this.scope.post('POST /v1/databases/{id}/branch', options), true)
  }

  /**
   * Makes another database as this one was at a time.
   * @throws BadRequestError for a time before the oldest backup or in the future; ConflictError if the archive lacks it
   */
  async restore(options: RestoreDatabaseOptions): Promise<Database> {
    return new Database(this.scope, await this.scope.post('POST /v1/databases/{id}/restore', options), true)
  }

  /** Size, connections, the archive, and the slowest statements. */
  async stats(options: CallOptions = {}): Promise<DatabaseStats> {
    return this.scope.get('GET /v1/databases/{id}/stats', options)
  }

  /** The lines of the server's log until now. */
  async logs(options: LogsOptions = {}): Promise<LogLine[]> {
    return readLogs(this.scope, options, 'GET /v1/databases/{id}/logs')
  }

  /** The lines of the server's log, then new ones. @throws MissingDataError as for `sandbox.followLogs` */
  followLogs(options: LogsOptions & GapOptions = {}): AsyncGenerator<LogLine, void, undefined> {
    return followLogs(this.scope, options, 'GET /v1/databases/{id}/logs')
  }

  /**
   * Runs a statement over HTTP, which needs no driver, and returns its rows as objects. It wakes a sleeping database.
   *
   *     const { rows } = await database.query<{ name: string }>('select name from people where id = $1', [7])
   *
   * @throws BadRequestError for an error of PostgreSQL: `body` has its `code`, `detail`, `hint` and `position`
   */
  async query<Row = Record<string, unknown>>(
    sql: string,
    params: readonly unknown[] = [],
    options: QueryDatabaseOptions = {},
  ): Promise<QueryResult<Row>> {
    return resultOf<Row>((await this.#broker('v1/query', { sql, params }, options)) as WireResult)
  }

  /** Runs all of the statements, or none. @throws BadRequestError as for {@link Database.query} */
  async transaction(
    statements: readonly (Statement | string)[],
    options: QueryDatabaseOptions = {},
  ): Promise<QueryResult<Record<string, unknown>>[]> {
    const all = statements.map((each) => (typeof each === 'string' ? { sql: each } : each))
    const answer = await this.#broker('v1/transaction', { statements: all }, options)
    return (answer as { results: WireResult[] }).results.map((each) => resultOf(each))
  }

  /** Nothing is renamed: the values belong to the user. The broker takes the credential of the database only. */
  async #broker(path: string, body: object, options: QueryDatabaseOptions): Promise<unknown> {
    const { database, statementTimeoutMs, maxRows, ...call } = options
    const fields = { database, timeout_ms: statementTimeoutMs, max_rows: maxRows }
    return this.scope.transport.json(
      this.scope.request('POST /v1/databases/{id}/proxy/{path}', {
        ...call,
        path: { path },
        body: { ...body, ...fields },
        headers: { authorization: `Bearer ${this.info.brokerToken}` },
      }),
    )
  }
}

function resultOf<Row>({ columns, rows, truncated, duration_ms: durationMs }: WireResult): QueryResult<Row> {
  const named = rows.map((row) => Object.fromEntries(columns.map(({ name }, index) => [name, row[index]])) as Row)
  return { rows: named, columns, isTruncated: truncated, durationMs }
}

/** The backups of a database. */
export class DatabaseBackups {
  readonly #scope: Scope

  /** @internal */
  constructor(scope: Scope) {
    this.#scope = scope
  }

  /** Makes a backup. The service verifies it later. @throws ServerError (507) if the host has no space */
  async create(options: CallOptions = {}): Promise<DatabaseBackup> {
    return this.#scope.call('POST /v1/databases/{id}/backups', options)
  }

  /** Newest first. */
  list(options: QueryOptions<'GET /v1/databases/{id}/backups'> = {}): List<DatabaseBackup> {
    return this.#scope.list('GET /v1/databases/{id}/backups', options)
  }

  /** It is no error if there is none. */
  async delete(backup: Named, options: CallOptions = {}): Promise<void> {
    const path = { backup: idOf(backup) }
    await this.#scope.remove('DELETE /v1/databases/{id}/backups/{backup}', options, { path })
  }
}

/** The databases of a workspace. */
export class Databases {
  readonly #scope: Scope

  /** @internal */
  constructor(transport: Transport) {
    this.#scope = new Scope(transport)
  }

  /** Makes a database and waits until it answers. @throws LimitError, ServerError (507) */
  async create(options: CreateDatabaseOptions = {}): Promise<Database> {
    return new Database(this.#scope, await this.#scope.post('POST /v1/databases', options), true)
  }

  /** @throws NotFoundError */
  async get(id: string, options: CallOptions = {}): Promise<Database> {
    return new Database(this.#scope, await this.#scope.with({ id }).get('GET /v1/databases/{id}', options), false)
  }

  /** The databases without their credentials, newest first. */
  list(options: QueryOptions<'GET /v1/databases'> = {}): List<DatabaseSummary> {
    return this.#scope.list('GET /v1/databases', options)
  }

  /** Deletes a database with its backups, for good. It is no error if there is none. */
  async delete(id: string, options: CallOptions = {}): Promise<void> {
    await this.#scope.with({ id }).remove('DELETE /v1/databases/{id}', options)
  }
}
