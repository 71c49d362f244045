import { isAbandoned } from '../../platform/db/abandoned.ts'
import { statement } from '../../platform/db/statement.ts'
import { VOLUME_COLUMNS, type HeldVolumeRow, type VolumeRow } from './volume-row.ts'

/**
 * The select list of a {@link HeldVolumeRow}, for an alias `v`: with the sandboxes that have the volume attached,
 * according to their rows. The agent decides which sandbox may attach it.
 */
export const HELD_VOLUME_COLUMNS = `${VOLUME_COLUMNS.replaceAll(/\w+/g, 'v.$&')}, coalesce((
    select jsonb_agg(jsonb_build_object('sandbox_id', s.id, 'read_only', (a -> 'read_only')::boolean) order by s.created_at, s.id)
    from sandboxes s, jsonb_array_elements(s.volumes) a
    where s.workspace_id = v.workspace_id and a ->> 'name' = v.name
      and s.status in ('creating', 'running', 'paused', 'hibernated')
  ), '[]') as attachments`

/** Fails with a unique violation if the name is taken. */
export const insertCreatingVolume = statement<
  { id: string },
  [id: string, workspaceId: string, agentId: string, creator: number, kind: string, name: string, sizeMb: number]
>(
  'insert-creating-volume',
  `insert into volumes (id, workspace_id, agent_id, creator, kind, name, size_mb, status)
   values ($1, $2, $3, $4, $5, $6, $7, 'creating') returning id`,
)

/** Moves the row to the next agent before that agent is asked. */
export const moveCreatingVolume = statement<{ id: string }, [id: string, agentId: string]>(
  'move-creating-volume',
  `update volumes set agent_id = $2 where id = $1 and status = 'creating' returning id`,
)

/**
 * Sets the row to `ready`, with the size that the agent reports. Returns no row if the row was removed as abandoned.
 */
export const setVolumeReady = statement<VolumeRow, [id: string, sizeMb: number]>(
  'set-volume-ready',
  `update volumes set status = 'ready', size_mb = $2 where id = $1 returning ${VOLUME_COLUMNS}`,
)

/** Removes the row of a failed create. */
export const removeCreatingVolume = statement<{ id: string }, [id: string]>(
  'remove-creating-volume',
  `delete from volumes where id = $1 and status = 'creating' returning id`,
)

export const removeVolumeRow = statement<{ id: string }, [id: string]>(
  'remove-volume-row',
  'delete from volumes where id = $1 returning id',
)

/** Finds a volume by workspace and name: this is the tenant check. */
export const volumeByName = statement<HeldVolumeRow, [workspaceId: string, name: string]>(
  'volume-by-name',
  `select ${HELD_VOLUME_COLUMNS} from volumes v
   where v.workspace_id = $1 and v.name = $2 and v.kind = 'volume' and v.status = 'ready'`,
)

export const volumesByName = statement<VolumeRow, [workspaceId: string, names: readonly string[]]>(
  'volumes-by-name',
  `select ${VOLUME_COLUMNS} from volumes
   where workspace_id = $1 and name = any($2) and kind = 'volume' and status = 'ready'`,
)

export const anySnapshotOfVolume = statement<{ id: string }, [workspaceId: string, name: string]>(
  'any-snapshot-of-volume',
  `select id from volumes where workspace_id = $1 and name = $2 and kind = 'snapshot' and status = 'ready' limit 1`,
)

export const volumeSnapshotById = statement<VolumeRow, [workspaceId: string, id: string]>(
  'volume-snapshot-by-id',
  `select ${VOLUME_COLUMNS} from volumes where workspace_id = $1 and id = $2 and kind = 'snapshot' and status = 'ready'`,
)

/** A volume or snapshot, also while it is being created. */
export const volumeById = statement<VolumeRow & { status: 'creating' | 'ready' }, [workspaceId: string, id: string]>(
  'volume-by-id',
  `select ${VOLUME_COLUMNS}, status from volumes where workspace_id = $1 and id = $2`,
)

/** The number that counts against the plan, including volumes in creation. */
export const countVolumes = statement<{ count: number }, [workspaceId: string, kind: string]>(
  'count-volumes',
  'select count(*)::int as count from volumes where workspace_id = $1 and kind = $2',
)

export interface ReconcileVolumeRow {
  readonly id: string
  readonly workspace_id: string
  readonly status: 'creating' | 'ready'
  readonly size_mb: number
  /** @see isAbandoned */
  readonly is_abandoned: boolean
}

export const volumeRowsOfAgent = statement<ReconcileVolumeRow, [agentId: string, deadlineSeconds: number]>(
  'volume-rows-of-agent',
  `select v.id, v.workspace_id, v.status, v.size_mb, ${isAbandoned('v', '$2')} as is_abandoned from volumes v where v.agent_id = $1`,
)
