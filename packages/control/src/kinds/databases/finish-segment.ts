import { setTimeout as delay } from 'node:timers/promises'
import { Deadline } from '@offshoot/kit/deadline'
import type pg from 'pg'
import { takeIntoArchive } from '../../fleet/archive-calls.ts'
import { refuse } from '../../fleet/agent-failure.ts'
import type { DatabasesContext } from './databases-context.ts'
import { agentOfDatabase } from './model/agent-of-database.ts'
import type { DatabaseRow } from './model/database-row.ts'
import { ADMIN } from './claim-database.ts'
import { openSecrets } from './model/secrets.ts'
import { clientConfig, withClient } from './model/server-client.ts'

/** Milliseconds by which a guest's clock may be behind control's. */
const CLOCK_MS = 10_000
const LOOK_MS = 50

/**
 * Ensures that the archive contains everything that was committed up to a time, plus one later commit. Recovery to a
 * time stops at the first commit after it, so it needs that commit. Wakes the server.
 * @throws ApiError as the agent answers; 409 if it takes too long
 */
export async function finishSegment(
  control: Pick<DatabasesContext, 'fleet' | 'databaseSecrets'>,
  database: DatabaseRow,
  until: Date,
  requestId: string,
): Promise<void> {
  const agent = agentOfDatabase(control.fleet, database)
  const { adminToken: password } = openSecrets(control.databaseSecrets, database.secrets)
  const as = { user: ADMIN, password, database: 'postgres' }
  const segment = await withClient(clientConfig(control.fleet, database, as), async (client) => {
    await untilPast(client, until)
    await client.query(`select pg_logical_emit_message(true, 'offshoot', '')`)
    const { rows } = await client.query<{ name: string }>('select pg_walfile_name(pg_switch_wal()) as name')
    return rows[0]?.name ?? ''
  })
  const subject = { id: database.id, workspaceId: database.workspace_id, requestId }
  await takeIntoArchive(agent, subject, segment).catch(refuse)
}

/** Uses the server's own clock, because its commits have times of that clock. */
async function untilPast(client: pg.Client, time: Date): Promise<void> {
  const deadline = Deadline.after(CLOCK_MS, 'a clock that is behind')
  for (;;) {
    const { rows } = await client.query<{ past: boolean }>('select clock_timestamp() > $1 as past', [time])
    if (rows[0]?.past === true) return
    deadline.throwIfOver()
    await delay(LOOK_MS)
  }
}
