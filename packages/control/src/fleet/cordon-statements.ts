import { statement } from '../platform/db/statement.ts'

export const cordonedAgents = statement<{ id: string }, []>(
  'cordoned-agents',
  'select id from agents where cordoned_at is not null',
)

/** No row: the host is already cordoned, or gone. */
export const cordonAgent = statement<{ id: string }, [id: string]>(
  'cordon-agent',
  `update agents set cordoned_at = now() where id = $1 and retired_at is null and cordoned_at is null returning id`,
)

/** No row: the host is not cordoned, or gone. */
export const uncordonAgent = statement<{ id: string }, [id: string]>(
  'uncordon-agent',
  `update agents set cordoned_at = null where id = $1 and retired_at is null and cordoned_at is not null returning id`,
)
