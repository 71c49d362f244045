import { randomUUID } from 'node:crypto'
import type { AgentInfo } from '@offshoot/contract/agent-api'
import { removeArtifact } from '../../../fleet/artifact-calls.ts'
import { copiesOnHost, removeArtifactHost } from '../../../fleet/artifact-host-statements.ts'
import {
  beginArtifactMove,
  drainableArtifacts,
  recordUnplacedArtifact,
} from '../../../fleet/artifact-move-statements.ts'
import type { Artifact } from '../../../fleet/artifact.ts'
import {
  drainableSandboxes,
  type DrainingHost,
  drainingHosts,
  drainProgress,
  endDrain,
  stayingObjects,
} from '../../../fleet/drain-statements.ts'
import { beginMove, recordUnplaced } from '../../../fleet/move-statements.ts'
import { orLog } from '../../../fleet/or-log.ts'
import { isOpen } from '../../../fleet/placement/candidates.ts'
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

/** Copies of artifacts that leave a host in one round. */
const MAX_COPIES_AT_ONCE = 16

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
  const isEmpty = next.length === 0 && host.open + host.creating + host.of_apps === 0
  if ((await drainArtifacts(control, host, source)) && isEmpty) await end(control, host)
}

/** @returns whether nothing is left that could move */
async function drainArtifacts(control: SandboxesContext, host: DrainingHost, source: AgentInfo): Promise<boolean> {
  const { database, fleet } = control
  const { pool } = database
  const next = await drainableArtifacts(pool, host.id, MAX_AT_ONCE)
  for (const artifact of next.slice(0, Math.max(0, MAX_AT_ONCE - host.open_artifacts))) {
    const having = artifact.hosts.flatMap((id) => fleet.byId(id) ?? []).filter((agent) => isOpen(agent))
    const [best] = [...having, ...destinations(fleet, source, artifact)]
    const to = best?.info?.agent_id
    if (to === undefined) await recordUnplacedArtifact(pool, artifact.id, host.id, NO_HOST)
    else await beginArtifactMove(pool, artifact.id, host.id, to)
  }
  const copies = await copiesOnHost(pool, host.id, MAX_COPIES_AT_ONCE)
  for (const copy of copies) await dropCopy(control, host.id, copy)
  return next.length === 0 && host.open_artifacts === 0 && copies.length === 0
}

/** Other hosts have the artifact. */
async function dropCopy(
  { database, fleet, log }: SandboxesContext,
  agentId: string,
  copy: Pick<Artifact, 'id' | 'kind' | 'workspace_id'>,
): Promise<void> {
  await removeArtifactHost(database.pool, copy.id, agentId)
  const agent = fleet.byId(agentId)
  if (agent === undefined) return
  const removed = removeArtifact(agent.client, { ...copy, requestId: randomUUID() })
  await orLog(log, { agent: agentId, [copy.kind]: copy.id }, removed)
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
