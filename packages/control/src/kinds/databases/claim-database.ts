import { setTimeout as delay } from 'node:timers/promises'
import { databaseUser } from '@offshoot/contract/database'
import { ApiError } from '@offshoot/contract/errors'
import { Deadline } from '@offshoot/kit/deadline'
import pg from 'pg'
import type { Fleet } from '../../fleet/fleet.ts'
import type { DatabaseRow } from './database-row.ts'
import { scramVerifier, type Secrets } from './secrets.ts'
import { clientConfig, withClient } from './server-client.ts'

/** Milliseconds for a database to take its identity: it has been restored as one that answers at once. */
export const CLAIM_MS = 30_000
const RETRY_MS = 50
/** As the template has them (templates/postgres-16/setup.sh). */
export const ADMIN = 'postgres'
export const UNCLAIMED = { user: 'unclaimed', adminToken: 'unclaimed' } as const
const WRONG_PASSWORD = '28P01'
/** No such role, or one already: it has its name from an earlier try. */
const NAMED_ALREADY: ReadonlySet<string | undefined> = new Set(['42704', '42710'])

export interface Claim {
  readonly secrets: Secrets
  /** Whose it was, and what opens it now. */
  readonly formerly: { readonly user: string; readonly adminToken: string }
}

/**
 * Gives a database its owner's name and password, and ours. What opened it before opens it no more, and who was connected is not.
 * Done again it changes nothing, also where the first time was interrupted anywhere.
 * @throws ApiError 500 when the server does not take it, or as the machine's agent says
 */
export async function claimDatabase(fleet: Fleet, row: DatabaseRow, { secrets, formerly }: Claim): Promise<void> {
  const deadline = Deadline.after(CLAIM_MS, `identity of database ${row.id}`)
  const statements = await claimStatements(databaseUser(row.id), secrets, formerly.user)
  // The new one where an earlier try has come through without anybody hearing of it.
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
  /** `null`: it has its name. */
  readonly rename: string | null
  readonly identify: string
  readonly endOthers: string
}

/**
 * What a server does for the first time costs more than what it does: emulated, each new path through it is translated first. So no language
 * is loaded for a condition, no question asked whose answer is known but after an interruption, and a function is read rather than a view.
 */
async function claimBy(client: pg.Client, { prepare, rename, identify, endOthers }: ClaimStatements): Promise<void> {
  await client.query(prepare)
  try {
    await client.query(`begin; ${rename === null ? '' : `${rename}; `}${identify}; commit`)
  } catch (error) {
    if (!(error instanceof pg.DatabaseError) || !NAMED_ALREADY.has(error.code)) throw error
    await client.query(`rollback; begin; ${identify}; commit`)
  }
  await client.query(endOthers)
}

/** Nobody but the server hears of the verifiers: neither its log nor its statistics of statements. */
async function claimStatements(user: string, secrets: Secrets, formerUser: string): Promise<ClaimStatements> {
  const { escapeIdentifier: name, escapeLiteral: text } = pg
  const [ofOwner, ofAdmin] = await Promise.all([scramVerifier(secrets.password), scramVerifier(secrets.adminToken)])
  return {
    // One whose disk is full takes its identity all the same.
    prepare: `set default_transaction_read_only = off; set log_statement = 'none'; set log_min_error_statement = 'panic'; set pg_stat_statements.track = 'none'`,
    rename: formerUser === user ? null : `alter role ${name(formerUser)} rename to ${name(user)}`,
    identify: `alter role ${name(user)} superuser login password ${text(ofOwner)};
     alter role ${ADMIN} password ${text(ofAdmin)}`,
    endOthers: `select pg_terminate_backend(pid) from pg_stat_get_activity(null)
     where backend_type = 'client backend' and pid <> pg_backend_pid()`,
  }
}

/** A server that is just being started again, after a crash of its own. */
function isPassing(error: unknown): boolean {
  if (error instanceof pg.DatabaseError) return error.code === '57P03'
  return error instanceof ApiError && error.kind === 'nothingListening'
}

function refusal(error: unknown): ApiError {
  if (error instanceof ApiError) return error
  return new ApiError('internal', { error: 'database could not be prepared' }, { cause: error })
}
