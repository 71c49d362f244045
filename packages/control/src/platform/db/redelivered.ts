/**
 * Prefix of a statement whose commit need not wait for the disk, because the agent's log will deliver the same change
 * again.
 *
 * If PostgreSQL crashes within the next tenths of a second, the row has its old state and its old sequence number. The
 * agent's record was durable before the agent answered, so it then brings the row up to date. Do not use the prefix if
 * the statement writes anything else, or if it inserts the row.
 *
 * It relies on two facts: a transaction-local `set_config` lasts until after the commit, and a single statement is a
 * transaction.
 */
export const REDELIVERED = `with redelivered as materialized (select set_config('synchronous_commit', 'off', true) as setting)`

/**
 * The same for an update of sandboxes after which readers of changes need no notification, because the follower of the
 * agent's log tells them of the record (docs/adr/0040-changes.md). Do not use it if the update writes anything that the
 * record does not.
 */
export const REDELIVERED_AND_TOLD = `with redelivered as materialized (
     select set_config('synchronous_commit', 'off', true), set_config('offshoot.tells_later', 'on', true))`
