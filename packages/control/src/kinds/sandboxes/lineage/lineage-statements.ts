import { type LineageNode, MAX_LINEAGE_NODES } from '@offshoot/contract/lineage'
import { statement } from '../../../platform/db/statement.ts'
import { EVENT_DAYS } from '../model/event-store.ts'

export interface LineageRow extends Omit<LineageNode, 'created_at' | 'deleted_at'> {
  readonly root_id: string
  readonly created_at: Date
  readonly deleted_at: Date | null
}

/**
 * The tree of a sandbox, which may be deleted; one row more than an answer holds. The ancestors come first, because
 * without them the others hang together no more.
 */
export const lineageOfSandbox = statement<LineageRow, [id: string, workspaceId: string]>(
  'lineage-of-sandbox',
  `with recursive own as (
     select id, root_id from lineage where id = $1 and workspace_id = $2 and kind = 'sandbox'
   ), ancestor as (
     select l.id, l.parent_id, 1 as depth from lineage l join own on own.id = l.id
     union all
     select l.id, l.parent_id, a.depth + 1 from lineage l join ancestor a on a.parent_id = l.id
     where l.workspace_id = $2 and a.depth < ${MAX_LINEAGE_NODES}
   )
   select l.id, l.kind, l.link, l.parent_id, coalesce(l.name, s.metadata->>'name') as name, l.template,
     case when l.deleted_at is not null then 'deleted' else coalesce(s.status, n.status, 'deleted') end as status,
     coalesce(s.cpu, l.cpu) as cpu, coalesce(s.memory_mb, l.memory_mb) as memory_mb,
     coalesce(n.size_bytes, l.size_bytes) as size_bytes, l.fork_tree_id,
     l.promoted or (l.fork_tree_id is not null and s.id is not null and s.parent_id is null) as promoted,
     l.root_id, l.created_at, l.deleted_at
   from own join lineage l on l.root_id = own.root_id and l.workspace_id = $2
     left join ancestor a on a.id = l.id
     left join sandboxes s on s.id = l.id
     left join snapshots n on n.id = l.id
   order by a.depth, l.deleted_at is not null, l.created_at, l.id
   limit ${MAX_LINEAGE_NODES + 1}`,
)

/** Deleted nodes stay for as long as the events that tell of them. */
export const removeOldLineage = statement<never, []>(
  'remove-old-lineage',
  `delete from lineage where deleted_at < now() - interval '${EVENT_DAYS} days'`,
)
