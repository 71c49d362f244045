/**
 * SQL, after `with failed as (… returning id, workspace_id, managed_by)`: adds the event `recover.orphaned` of each, because
 * no agent tells of it. Nobody is told of the sandboxes in which control verifies backups.
 * @param message for people; no user's text
 */
export const tellOrphaned = (message: string): string =>
  `select failed.id from failed cross join lateral append_event(
     case when managed_by is distinct from 'proof' then workspace_id end, 'sandbox', id, array[id::text],
     'recover.orphaned', 'warn', '${message}', '{}')`
