import { statement } from '../db/statement.ts'

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
 * Names a port, or names it anew. The lock on the sandbox makes the maximum hold for callers at the same time.
 * Gives no row when there are too many, or the sandbox is gone.
 */
export const namePort = statement<PortRow, [sandboxId: string, port: number, label: string | null, max: number]>(
  'name-port',
  `with sandbox as (select id from sandboxes where id = $1 for update),
     room as (
       select id from sandbox
       where (select count(*) from sandbox_ports where sandbox_id = $1 and port <> $2) < $4
     )
   insert into sandbox_ports (sandbox_id, port, label) select id, $2, $3 from room
   on conflict (sandbox_id, port) do update set label = excluded.label
   returning port, label`,
)

/** Gives no row when nobody had named it. */
export const removePort = statement<PortRow, [sandboxId: string, port: number]>(
  'remove-port',
  'delete from sandbox_ports where sandbox_id = $1 and port = $2 returning port, label',
)
