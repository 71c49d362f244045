import { transaction } from '../db/transaction.ts'
import { statement } from '../db/statement.ts'
import type pg from 'pg'
import type { Keyring } from './keyring.ts'
import { headerOf, Seal } from './seal.ts'

/** Values resealed in one transaction. */
const BATCH = 100

/** Every column with sealed values, and the purpose of its seal. A new column must be added here. */
const COLUMNS = [
  ['mails', 'sealed', 'mails'],
  ['databases', 'secrets', 'databases'],
  ['database_backups', 'secrets', 'databases'],
  ['apps', 'env', 'apps'],
  ['app_certificates', 'key', 'certificates'],
  ['app_certificates', 'order_key', 'certificates'],
  ['acme_accounts', 'key', 'certificates'],
  ['ssh_service_keys', 'key', 'ssh'],
  ['fleet_authority', 'key', 'fleet'],
  ['fleet_authority', 'other_key', 'fleet'],
  ['joined_hosts', 'secret', 'fleet'],
  ['joined_hosts', 'edge_secret', 'fleet'],
  ['webhooks', 'secret', 'webhooks'],
  ['webhooks', 'previous_secret', 'webhooks'],
  ['idempotent_requests', 'answer', 'answers'],
] as const

const STATEMENTS = COLUMNS.map(([table, column, purpose]) => ({
  purpose,
  // The lock keeps the row's ctid until the transaction ends.
  select: statement<{ ctid: string; sealed: Buffer }, [header: Buffer, limit: number]>(
    `old-sealed-${table}-${column}`,
    `select ctid::text, ${column} as sealed from ${table}
     where ${column} is not null and substring(${column} from 1 for 8) <> $1 limit $2 for update`,
  ),
  update: statement<never, [ctid: string, sealed: Buffer]>(
    `reseal-${table}-${column}`,
    `update ${table} set ${column} = $2 where ctid = $1::tid`,
  ),
}))

/**
 * Reseals stored values with the current key, in transactions of a hundred values. A process that dies loses at most one
 * of them, and the next run continues. Returns the number of values that it resealed; 0: none is left.
 */
export async function resealValues(pool: pg.Pool, keyring: Keyring, signal: AbortSignal): Promise<number> {
  const { version } = keyring.current
  if (version === 0) return 0
  const header = headerOf(version)
  let count = 0
  for (const { purpose, select, update } of STATEMENTS) {
    const seal = new Seal(keyring, purpose)
    for (let done = BATCH; done === BATCH && !signal.aborted;) {
      done = await transaction(pool, async (client) => {
        const rows = await select(client, header, BATCH)
        for (const { ctid, sealed } of rows) await update(client, ctid, seal.close(seal.open(sealed)))
        return rows.length
      })
      count += done
    }
  }
  return count
}
