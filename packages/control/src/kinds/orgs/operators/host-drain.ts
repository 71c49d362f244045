import { type HostDrain, MAX_STAYING_SHOWN } from '@offshoot/contract/host'
import type pg from 'pg'
import type { HostRow } from './get-hosts.ts'
import { drainProgress, stayingObjects } from '../../../fleet/drain-statements.ts'

/** `null`: nobody drains the host. The times are those of the row, so that they fit the state that it tells. */
export async function drainOf(
  pool: pg.Pool,
  { id, drain_begun_at: begunAt, drain_ended_at: endedAt }: Pick<HostRow, 'id' | 'drain_begun_at' | 'drain_ended_at'>,
): Promise<HostDrain | null> {
  const [progress] = begunAt === null ? [] : await drainProgress(pool, id)
  if (begunAt === null || progress === undefined) return null
  const { waiting, moving, moved, failed } = progress
  const staying = await stayingObjects(pool, id, MAX_STAYING_SHOWN)
  return {
    begun_at: begunAt.toISOString(),
    ended_at: endedAt?.toISOString() ?? null,
    left: waiting + moving,
    moving,
    moved,
    failed,
    staying: staying[0]?.total ?? 0,
    stays: staying.map(({ kind, id: object, workspace_id, reason }) => ({ kind, id: object, workspace_id, reason })),
  }
}
