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

/** Whoever else names a port of the sandbox waits for the end of the transaction. Gives no row when the sandbox is gone. */
export const lockSandbox = statement<{ readonly id: string }, [id: string]>(
  'lock-sandbox-for-ports',
  'select id from sandboxes where id = $1 for no key update',
)

/**
 * Names a port, or names it anew; no row when there are too many. A statement of its own after the lock: it sees what those
 * who had the lock before have written.
 */
export const namePort = statement<PortRow, [sandboxId: string, port: number, label: string | null, max: number]>(
  'name-port',
  `insert into sandbox_ports (sandbox_id, port, label)
   select $1, $2, $3 where (select count(*) from sandbox_ports where sandbox_id = $1 and port <> $2) < $4
   on conflict (sandbox_id, port) do update set label = excluded.label
   returning port, label`,
)

/** Gives no row when nobody had named it. */
export const removePort = statement<PortRow, [sandboxId: string, port: number]>(
  'remove-port',
  'delete from sandbox_ports where sandbox_id = $1 and port = $2 returning port, label',
)
