import { randomUUID } from 'node:crypto'
import type { AgentInfo } from '@offshoot/contract/agent-api'
import {
  drainableSandboxes,
  type DrainingHost,
  drainingHosts,
  drainProgress,
  endDrain,
  stayingObjects,
} from '../../../fleet/drain-statements.ts'
import { beginMove, recordUnplaced } from '../../../fleet/move-statements.ts'
import { serviceActor } from '../../../platform/audit/actor.ts'
import { recordAuditEvent } from '../../../platform/audit/audit-statements.ts'
import { transaction } from '../../../platform/db/transaction.ts'
import type { RecurringTask } from '../../../platform/jobs/task.ts'
import type { SandboxesContext } from '../model/sandboxes-context.ts'
import { destinations } from './destinations.ts'

/** Milliseconds between two rounds while a host is drained. The end of a move does not make the next round earlier. */
const EVERY_MS = 500
/** Sandboxes that leave one host at the same time. Each copy reads the disk of one host and writes to another's. */
const MAX_AT_ONCE = 4
const NO_HOST = 'no other host can take it: one must answer, and have room on its disk, the labels and the zone'

/** Begins the moves from hosts that operators drain, and ends a drain when everything has been tried. */
export function drainHosts(control: SandboxesContext): RecurringTask {
  return {
    name: 'drain-hosts',
    async recur({ signal }) {
      const hosts = await drainingHosts(control.database.pool)
      for (const host of hosts) {
        signal.throwIfAborted()
        // A host that does not answer can give nothing away, and tells when it is back.
        const source = control.fleet.byId(host.id)
        if (source?.isReachable === true && source.info !== null) await drain(control, host, source.info)
      }
      return hosts.length === 0 ? null : EVERY_MS
    },
  }
}

async function drain(control: SandboxesContext, host: DrainingHost, source: AgentInfo): Promise<void> {
  const { pool } = control.database
  const next = await drainableSandboxes(pool, host.id, MAX_AT_ONCE)
  for (const sandbox of next.slice(0, Math.max(0, MAX_AT_ONCE - host.open))) {
    const [best] = destinations(control.fleet, source, sandbox)
    if (best === undefined) await recordUnplaced(pool, sandbox.id, host.id, NO_HOST)
    else await beginMove(pool, sandbox.id, host.id, best.info.agent_id)
  }
  if (next.length === 0 && host.open + host.creating + host.of_apps === 0) await end(control, host)
}

async function end({ database }: SandboxesContext, { id, begun_at: begunAt }: DrainingHost): Promise<void> {
  await transaction(database.pool, async (client) => {
    const [ended] = await endDrain(client, id, begunAt)
    if (ended === undefined) return
    const [progress] = await drainProgress(client, id)
    const [first] = await stayingObjects(client, id, 1)
    const details = { moved: progress?.moved ?? 0, staying: first?.total ?? 0 }
    await recordAuditEvent(client, serviceActor(randomUUID()), {
      workspaceId: null,
      action: 'host.drained',
      target: id,
      details,
    })
  })
}
