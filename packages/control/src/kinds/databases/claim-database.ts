import { setTimeout as delay } from 'node:timers/promises'
import { databaseUser } from '@offshoot/contract/database'
import { ApiError } from '@offshoot/contract/errors'
import { Deadline } from '@offshoot/kit/deadline'
import { traceStatement } from '@offshoot/kit/otlp/telemetry'
import pg from 'pg'
import type { Fleet } from '../../fleet/fleet.ts'
import { scramVerifier, type Secrets } from './model/secrets.ts'
import { clientConfig, withClient } from './model/server-client.ts'
import type { Reached } from './model/tunnel.ts'

/** Milliseconds for a database to take its identity. The server was restored running, so it answers at once. */
const CLAIM_MS = 30_000
const RETRY_MS = 50
/** As set by the template (templates/postgres-16/setup.sh). */
export const ADMIN = 'postgres'
export const UNCLAIMED = { user: 'unclaimed', adminToken: 'unclaimed' } as const
const WRONG_PASSWORD = '28P01'
/** SQLSTATE undefined_object and duplicate_object: an earlier attempt has already renamed the role. */
const NAMED_ALREADY: ReadonlySet<string | undefined> = new Set(['42704', '42710'])

export interface Claim {
  readonly secrets: Secrets
  /** The owner's role and the admin token before the claim. */
  readonly formerly: { readonly user: string; readonly adminToken: string }
}

/**
 * Gives a database its owner's role and password, and control's admin password. Earlier credentials become invalid, and
 * existing connections end. The claim is idempotent, also if an earlier attempt was interrupted at any point.
 * @throws ApiError 500 if the server refuses, or as the agent answers
 */
export async function claimDatabase(fleet: Fleet, row: Reached, { secrets, formerly }: Claim): Promise<void> {
  const deadline = Deadline.after(CLAIM_MS, `identity of database ${row.id}`)
  const statements = await claimStatements(databaseUser(row.id), secrets, formerly.user)
  // An earlier attempt may have set the new password although its answer was lost. Then the old password is wrong.
  let password = formerly.adminToken
  const other = secrets.adminToken
  for (;;) {
    try {
      return await withClient(clientConfig(fleet, row, { user: ADMIN, password, database: 'postgres' }), (client) =>
        claimBy(client, statements),
      )
    } catch (error) {
      const isOther = error instanceof pg.DatabaseError && error.code === WRONG_PASSWORD && password !== other
      if (!(isOther || isPassing(error)) || deadline.remainingMs <= RETRY_MS) throw refusal(error)
      if (isOther) password = other
    }
    await delay(RETRY_MS)
  }
}

interface ClaimStatements {
  readonly prepare: string
  /** `null` if the role already has its name. */
  readonly rename: string | null
  readonly identify: string
  readonly endOthers: string
}

/**
 * Minimizes the server code that runs for the first time: under emulation, each new code path must first be translated,
 * which costs more than the work itself. So this avoids PL/pgSQL conditions, queries that matter only after an
 * interruption, and views where a function will do.
 */
async function claimBy(client: pg.Client, { prepare, rename, identify, endOthers }: ClaimStatements): Promise<void> {
  await traceStatement('prepare-claim', () => client.query(prepare))
  try {
    const claim = `begin; ${rename === null ? '' : `${rename}; `}${identify}; commit`
    await traceStatement('claim-database', () => client.query(claim))
  } catch (error) {
    if (!(error instanceof pg.DatabaseError) || !NAMED_ALREADY.has(error.code)) throw error
    await client.query(`rollback; begin; ${identify}; commit`)
  }
  await traceStatement('end-other-connections', () => client.query(endOthers))
}

/** The password verifiers must not appear in the server's log or in its statement statistics. */
async function claimStatements(user: string, secrets: Secrets, formerUser: string): Promise<ClaimStatements> {
  const { escapeIdentifier: name, escapeLiteral: text } = pg
  const [ofOwner, ofAdmin] = await Promise.all([scramVerifier(secrets.password), scramVerifier(secrets.adminToken)])
  return {
    // `default_transaction_read_only = off`: the claim must also work if a full disk has made the server read-only.
    prepare: `set default_transaction_read_only = off; set log_statement = 'none'; set log_min_error_statement = 'panic'; set pg_stat_statements.track = 'none'`,
    rename: formerUser === user ? null : `alter role ${name(formerUser)} rename to ${name(user)}`,
    identify: `alter role ${name(user)} superuser login password ${text(ofOwner)};
     alter role ${ADMIN} password ${text(ofAdmin)}`,
    endOthers: `select pg_terminate_backend(pid) from pg_stat_get_activity(null)
     where backend_type = 'client backend' and pid <> pg_backend_pid()`,
  }
}

/** Tells whether the server is just restarting after a crash. */
function isPassing(error: unknown): boolean {
  if (error instanceof pg.DatabaseError) return error.code === '57P03'
  return error instanceof ApiError && error.kind === 'nothingListening'
}

function refusal(error: unknown): ApiError {
  if (error instanceof ApiError) return error
  return new ApiError('internal', { error: 'database could not be prepared' }, { cause: error })
}
