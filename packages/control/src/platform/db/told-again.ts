/**
 * The beginning of a statement that writes only what an agent's log will tell again: its commit does not wait for the disk.
 * When PostgreSQL dies in the next tenths of a second the row is as before, its number too, and the log's record, which is
 * durable before the agent answers, brings it there. Of no use where anything else is written, or the row itself is new.
 *
 * Counted on: `set_config` for a transaction holds until after its commit, and a statement alone is a transaction.
 */
export const TOLD_AGAIN = `with told_again as materialized (select set_config('synchronous_commit', 'off', true) as setting)`
