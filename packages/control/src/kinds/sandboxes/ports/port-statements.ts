import { statement } from '../../../platform/db/statement.ts'

/** A port that a user has named. */
export interface PortRow {
  readonly port: number
  readonly label: string | null
}

export const portsOfSandbox = statement<PortRow, [sandboxId: string]>(
  'ports-of-sandbox',
  'select port, label from sandbox_ports where sandbox_id = $1 order by port',
)

/**
 * Blocks other transactions that name ports of the sandbox, until this one ends. Returns no row if the sandbox is gone.
 */
export const lockSandbox = statement<{ readonly id: string }, [id: string]>(
  'lock-sandbox-for-ports',
  'select id from sandboxes where id = $1 for no key update',
)

/**
 * Names or renames a port. Returns no row if there are too many. It must be a separate statement after the lock, so
 * that it sees what earlier holders of the lock have written.
 */
export const namePort = statement<PortRow, [sandboxId: string, port: number, label: string | null, max: number]>(
  'name-port',
  `insert into sandbox_ports (sandbox_id, port, label)
   select $1, $2, $3 where (select count(*) from sandbox_ports where sandbox_id = $1 and port <> $2) < $4
   on conflict (sandbox_id, port) do update set label = excluded.label
   returning port, label`,
)

/** Returns no row if the port had no name. */
export const removePort = statement<PortRow, [sandboxId: string, port: number]>(
  'remove-port',
  'delete from sandbox_ports where sandbox_id = $1 and port = $2 returning port, label',
)
