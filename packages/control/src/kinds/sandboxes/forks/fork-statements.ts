import type { Visibility } from '@offshoot/contract/sandbox'
import { statement } from '../../../platform/db/statement.ts'
import { type Manager, sandboxColumns, type SandboxRow } from '../../../fleet/sandbox-row.ts'

/**
 * Inserts the rows of a fork: its snapshot and its children, `creating`, on the parent's agent. The children inherit
 * the parent's lifecycle settings; their time to live counts from now. Children that a feature owns get no parent_id.
 * Returns no row if the parent is gone or is being deleted.
 *
 * @param children JSON: `[{id, metadata, volumes}]`
 */
export const stageFork = statement<
  { id: string; visibility: Visibility },
  [
    parentId: string,
    snapshotId: string,
    treeId: string | null,
    creator: number,
    children: string,
    managedBy: Manager['by'] | null,
    managedId: string | null,
  ]
>(
  'stage-fork',
  `with parent as (
     select * from sandboxes where id = $1 and deletion_due_at is null
   ), snapshot as (
     insert into snapshots (id, workspace_id, agent_id, sandbox_id, creator, template, cpu, memory_mb, egress, visibility,
       managed_by, origin, status)
     select $2, workspace_id, agent_id, id, $4, template, cpu, memory_mb, egress, visibility, managed_by, 'fork', 'creating' from parent
   )
   insert into sandboxes (id, workspace_id, agent_id, creator, status, template, cpu, memory_mb, metadata, volumes,
     persistent, ttl_seconds, idle_timeout_seconds, on_timeout, expires_at, from_snapshot, parent_id, fork_tree_id,
     egress, visibility, managed_by, managed_id)
   select c.id, p.workspace_id, p.agent_id, $4, 'creating', p.template, p.cpu, p.memory_mb, c.metadata, c.volumes,
     p.persistent, p.ttl_seconds, p.idle_timeout_seconds, p.on_timeout,
     case when p.persistent then null else now() + make_interval(secs => p.ttl_seconds) end, $2::text,
     case when $6::text is null then p.id end, $3, p.egress, p.visibility, $6, $7
   from parent p, jsonb_to_recordset($5) as c (id uuid, metadata jsonb, volumes jsonb)
   returning id, visibility`,
)

/** Detaches the winner from its parent, so that no later promotion treats it as a sibling. */
export const detachWinner = statement<SandboxRow, [id: string, treeId: string]>(
  'detach-winner',
  `update sandboxes set parent_id = null
   where id = $1 and fork_tree_id = $2 and deletion_due_at is null and status not in ('creating', 'failed')
   returning ${sandboxColumns()}`,
)

/**
 * Marks the children of a tree that were never promoted for deletion. From then on the reaper deletes them, even if
 * this process dies.
 */
export const doomSiblings = statement<SandboxRow, [treeId: string, workspaceId: string, leaseSeconds: number]>(
  'doom-siblings',
  `update sandboxes set deletion_due_at = now() + make_interval(secs => $3)
   where fork_tree_id = $1 and workspace_id = $2 and parent_id is not null and managed_by is null
   returning ${sandboxColumns()}`,
)
