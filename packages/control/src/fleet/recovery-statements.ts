import { IS_PROVEN } from './copy-statements.ts'
import { statement } from '../platform/db/statement.ts'

/** Minutes after which a host is offered a copy again that it could not take. */
const AGAIN_MINUTES = 10

/** SQL: the sandbox of the copy `c`, whose agent is `a`, may come back elsewhere. */
const MAY_BE_TAKEN = `c.state = 'stored' and ${IS_PROVEN}
     and (a.lost_at is not null or a.retired_at is not null or c.is_source_lost)`

/** A stored copy whose host is lost or removed, or does not have the sandbox any more. */
export interface RecoverableCopy {
  readonly id: string
  readonly workspace_id: string
  /** What that host has told of itself. */
  readonly agent_id: string
  readonly accelerator: string | null
  readonly qemu_version: string | null
  /** Hosts that could not take it, or still have a part of it. */
  readonly tried: string[]
}

/** SQL: an unfinished move that waits for the lost host. It has changed nothing, because the host refuses it. */
const WAITS = `m.finished_at is null and m.state = 'leaving' and m.copy_id is null`

/** The oldest ones. @param limit of sandboxes that are taken over at the same time */
export const recoverableCopies = statement<RecoverableCopy, [limit: number]>(
  'recoverable-copies',
  `select c.id, c.workspace_id, c.agent_id, a.info->>'accelerator' as accelerator, a.info->>'qemu_version' as qemu_version,
     array(select m.to_agent from sandbox_moves m where m.sandbox_id = c.sandbox_id and m.to_agent is not null
       and (m.left_behind is not null or (m.copy_id = c.id and m.state = 'failed'
         and m.created_at > now() - interval '${AGAIN_MINUTES} minutes'))) as tried
   from sandbox_copies c join agents a on a.id = c.agent_id
     join sandboxes s on s.id = c.sandbox_id and s.agent_id = c.agent_id
   where ${MAY_BE_TAKEN}
     and s.status = 'hibernated' and s.deletion_due_at is null and not exists (select from sandbox_moves m
       where m.sandbox_id = c.sandbox_id and m.finished_at is null and not (${WAITS}))
   order by c.stored_at
   limit greatest(0, $1 - (select count(*) from sandbox_moves where copy_id is not null and finished_at is null))`,
)

export const endWaitingMoves = statement<never, [copyId: string]>(
  'end-waiting-moves',
  `update sandbox_moves m set state = 'failed', reason = 'the host was lost', finished_at = now()
   from sandbox_copies c where c.id = $1 and m.sandbox_id = c.sandbox_id and ${WAITS}`,
)

/** No row: the host is back, the copy was given up, or another process has begun. */
export const beginRecovery = statement<{ id: string }, [copyId: string, toAgent: string]>(
  'begin-recovery',
  `insert into sandbox_moves (sandbox_id, workspace_id, from_agent, to_agent, state, bake, source_seq, copy_id)
   select c.sandbox_id, c.workspace_id, c.agent_id, $2, 'copying', c.bake, c.source_seq, c.id
   from sandbox_copies c join agents a on a.id = c.agent_id
   where c.id = $1 and ${MAY_BE_TAKEN}
   on conflict do nothing returning id`,
)
