/**
 * SQL that is true of a row whose agent can remove what it stands for, or is retired, so that nothing is left but the row.
 * `$2` holds the ids of the agents that can be reached.
 */
export const REMOVABLE = '(agent_id = any($2) or agent_id in (select id from agents where retired_at is not null))'
