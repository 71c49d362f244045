/**
 * SQL that is true if a row's object can be removed: its agent is reachable, or is retired, so that only the row is
 * left. `$2` holds the ids of the reachable agents.
 */
export const REMOVABLE = '(agent_id = any($2) or agent_id in (select id from agents where retired_at is not null))'

/** Minutes for which a reconciliation may still remove what a host was told to remove. */
const REMEMBERED_MINUTES = 5

/** SQL: the host was told to remove the object just now. */
export const isRecentlyRemoved = (id: string, agentId: string): string =>
  `exists (select from removed_objects r where r.id = ${id} and r.agent_id = ${agentId}
     and r.removed_at > now() - interval '${REMEMBERED_MINUTES} minutes')`
