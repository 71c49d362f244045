import { DATABASE_TEMPLATES, databaseUser } from '@offshoot/contract/database'
import { ApiError } from '@offshoot/contract/errors'
import { type AgentClient, CREATE_TIMEOUT_MS } from '../../fleet/agent-client.ts'
import { AgentRefused, AgentUnreachable } from '../../fleet/agent-failure.ts'
import { agentOrNone } from '../../fleet/agent-or-none.ts'
import { reasonOf, SourceFailed } from '../../fleet/stream-calls.ts'
import { commitMove, giveUpMove } from '../../fleet/move-statements.ts'
import { look, type Subject } from '../../fleet/sandbox-calls.ts'
import { serviceActor } from '../../platform/audit/actor.ts'
import { recordAuditEvent } from '../../platform/audit/audit-statements.ts'
import { transaction } from '../../platform/db/transaction.ts'
import { sandboxLimitsOf } from '../billing/limits/sandbox-limits.ts'
import { bringArtifact } from '../sandboxes/artifacts/bring-artifact.ts'
import { claimDatabase } from './claim-database.ts'
import type { DatabasesContext } from './databases-context.ts'
import { resize } from './grow-disk.ts'
import { NEVER } from './patch-database.ts'
import { neededSince } from './prune-archive.ts'
import { recover } from './recover.ts'
import { openSecrets } from './model/secrets.ts'
import { type NeededSegment, neededSegments, type Recovery, takeOver } from './recovery-statements.ts'
import { hasReadAll, replayedUntil } from './replayed-until.ts'
import { sendStored } from './send-stored.ts'

/** Milliseconds until the backup is on the destination. */
const BRING_MS = 4 * 3_600_000

interface Run {
  readonly control: DatabasesContext
  readonly recovery: Recovery
  readonly subject: Subject
  readonly signal: AbortSignal
}

/**
 * Brings a lost database back on another host (docs/internal-api.md): brings a backup there, makes the VM from
 * its disk with the same id, replays the stored WAL, and takes its own credentials. Edges let nobody in before the commit, because the sandbox is
 * private. If anything fails, the job `move-sandbox` removes what this attempt has made, and another attempt begins.
 */
export async function recoverDatabase(
  control: DatabasesContext,
  recovery: Recovery,
  { requestId, signal }: { readonly requestId: string; readonly signal: AbortSignal },
): Promise<void> {
  const { pool } = control.database
  const subject = { id: recovery.id, workspaceId: recovery.workspace_id, requestId }
  try {
    await bringBack({ control, recovery, subject, signal })
  } catch (error) {
    signal.throwIfAborted()
    control.log.warn({ err: error, database: recovery.id }, 'database not recovered: trying again later')
    const reason = error instanceof AgentRefused ? reasonOf(error) : textOf(error)
    await giveUpMove(pool, recovery.move_id, reason.slice(0, 500), false)
  }
}

async function bringBack(run: Run): Promise<void> {
  const { control, recovery, subject } = run
  const agent = await agentOrNone(control, recovery.to_agent)
  if (typeof agent === 'string') throw new Error('the destination does not answer')
  if (await isThere(agent, subject)) throw new Error('an earlier run was interrupted')
  await bringBackup(run)
  await create(run, agent)
  const files = await sendArchive(run, agent)
  const made = { id: recovery.id, workspace_id: recovery.workspace_id, agent_id: recovery.to_agent } as const
  const said = (await recover(control, made, recovery.id, 'end', subject.requestId)).trim().split('\n')
  const [history = '', last = ''] = said.toReversed()
  const until = replayedUntil(last, recovery.created_at, files)
  // What is behind a gap in the archive is in the newer backup only.
  const names = files.map(({ name }) => name)
  if (recovery.has_newer && !hasReadAll(names, history))
    throw new Error('the archive has a gap between this backup and a newer one')
  const formerly = {
    user: databaseUser(recovery.id),
    adminToken: openSecrets(control.databaseSecrets, recovery.backup_secrets).adminToken,
  }
  const secrets = openSecrets(control.databaseSecrets, recovery.secrets)
  await claimDatabase(control.fleet, made, { secrets, formerly })
  await resize(control, made, recovery.disk_mb, subject.requestId)
  await commit(run, agent, until)
}

/** If an earlier run brought it, this one waits until its end is known. */
async function bringBackup({ control, recovery, subject, signal }: Run): Promise<void> {
  const to = control.fleet.byId(recovery.to_agent)
  if (to === undefined) throw new Error('the destination was removed')
  const backup = {
    id: recovery.backup_id,
    kind: 'snapshot',
    workspace_id: recovery.workspace_id,
    origin: 'backup',
  } as const
  const limited = AbortSignal.any([signal, AbortSignal.timeout(BRING_MS)])
  await bringArtifact(control, backup, to, subject.requestId, limited)
}

async function isThere(agent: AgentClient, subject: Subject): Promise<boolean> {
  try {
    await look(agent, subject)
    return true
  } catch (error) {
    if (error instanceof AgentRefused && error.status === 404) return false
    throw error
  }
}

async function create({ control, recovery, subject }: Run, agent: AgentClient): Promise<void> {
  const outcome = await agent.create(
    {
      id: recovery.id,
      template: DATABASE_TEMPLATES[recovery.size],
      snapshot_id: recovery.backup_id,
      without_memory: true,
      env: { OFFSHOOT_HOLD: '1' },
      persistent: true,
      idle_timeout_seconds: recovery.always_on ? NEVER : recovery.idle_timeout_seconds,
      egress: recovery.egress,
      visibility: 'private',
      limits: await sandboxLimitsOf(control, recovery.workspace_id),
      attempt_id: recovery.move_id,
    },
    subject.workspaceId,
    subject.requestId,
    CREATE_TIMEOUT_MS,
  )
  if (outcome.kind !== 'created') throw outcome.error
}

/** @returns the files that the new archive of the database has now */
async function sendArchive({ control, recovery, subject, signal }: Run, agent: AgentClient): Promise<NeededSegment[]> {
  const { database, storedSegments: store } = control
  if (store === null) throw new Error('there is no object store any more')
  const segments = await neededSegments(database.pool, recovery.id, neededSince(recovery))
  await sendStored(store, segments, recovery.id, { agent, subject }, signal)
  return segments
}

/** The point of truth. */
async function commit({ control, recovery, subject }: Run, agent: AgentClient, until: Date): Promise<void> {
  const { id, from_agent: from, to_agent: to, move_id: moveId, backup_id: backup } = recovery
  const { last_seq: seq } = await agent.info(subject.requestId)
  await transaction(control.database.pool, async (client) => {
    const [committed] = await commitMove(client, moveId, null)
    const [taken] = committed === undefined ? [] : await takeOver(client, id, from, to, seq, until)
    if (taken === undefined) throw new Error('the database was deleted, or a host was removed')
    await recordAuditEvent(client, serviceActor(subject.requestId), {
      workspaceId: recovery.workspace_id,
      action: 'database.recovered',
      target: id,
      details: { from, to, backup, until: until.toISOString() },
    })
  })
}

function textOf(error: unknown): string {
  if (error instanceof AgentUnreachable) return 'the destination does not answer'
  if (error instanceof SourceFailed && error.cause instanceof Error) return error.cause.message
  if (error instanceof ApiError) return error.body.detail ?? error.message
  return error instanceof Error ? error.message : String(error)
}
