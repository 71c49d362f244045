/**
 * SQL that is true if a row's object can be removed: its agent is reachable, or is retired, so that only the row is
 * left. `$2` holds the ids of the reachable agents.
 */
export const REMOVABLE = '(agent_id = any($2) or agent_id in (select id from agents where retired_at is not null))'
