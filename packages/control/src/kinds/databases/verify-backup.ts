/**
 * Verifies backups, one at a time among all control processes. It restores only the disk of a backup in an internal
 * sandbox, which tenants do not see or pay for, and checks every table and index.
 *
 *     pending ──► ok
 *        │ └────► failed      it is damaged, or it could not be started in several attempts
 *        └── retry later      no memory or disk is free, or its host is unreachable; the process has ended
 *
 * Tenants' work has priority. Verification begins only if the host has twice the needed memory free, and aborts when
 * the rest is needed.
 */
import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { agentDisk } from '@offshoot/contract/agent-disk'
import { DATABASE_TEMPLATES } from '@offshoot/contract/database'
import { ApiError, type ErrorName } from '@offshoot/contract/errors'
import type { SandboxId } from '@offshoot/contract/ids'
import type { KnownAgent } from '../../fleet/agent-directory.ts'
import type { Fleet } from '../../fleet/fleet.ts'
import type { DatabasesContext } from './databases-context.ts'
import { transaction } from '../../platform/db/transaction.ts'
import { type Lane, lane, type TaskRun } from '../../platform/jobs/task.ts'
import { createSandbox } from '../sandboxes/create-sandbox.ts'
import { removeSandbox } from '../sandboxes/model/remove-sandbox.ts'
import { sandboxById, setDeletionDue } from '../sandboxes/model/sandbox-statements.ts'
import { checkServer } from './check-server.ts'
import {
  claimVerification,
  endAbandonedVerifications,
  hasPendingVerifications,
  insertVerification,
  lockVerifications,
  type VerificationRow,
  postponeVerification,
  setVerified,
} from './verification-statements.ts'
import { openSecrets } from './model/secrets.ts'

/**
 * Seconds for one verification: enough for a few gigabytes under software emulation. The sandbox expires then, even if
 * the process dies.
 */
const VERIFICATION_SECONDS = 1_800
/** Seconds to wait after each failed attempt. After the last one, a backup that cannot be started counts as damaged. */
const RETRY_SECONDS = [15, 60, 300, 900]
/** Seconds to wait after an attempt for which the host had no room. It does not count as failed. */
const NO_ROOM_RETRY_SECONDS = 60
/** Milliseconds between two looks for a backup that is due. */
const NEXT_MS = 5_000
const LOOK_MS = 1_000
const MIB_TO_SPARE = 512
/** Bytes. With less free disk, a failed attempt may be the host's fault and says nothing about the backup. */
const DISK_TO_SPARE_BYTES = 256 * 1024 * 1024
const DISK_LOOK_MS = 30_000
/** Errors of a create that are not the backup's fault. */
const NOT_THE_BACKUP: ReadonlySet<ErrorName> = new Set(['insufficientMemory', 'creditExhausted', 'noComputeNode'])

/** The lane of the verification. Only `main.ts` adds it: tests call {@link verifyNextBackup} themselves. */
export function backupVerification(control: DatabasesContext): readonly Lane[] {
  const recur = async ({ signal }: TaskRun) => {
    await verifyNextBackup(control, signal)
    return (await hasPendingVerifications(control.database.pool))[0]?.found === true ? NEXT_MS : null
  }
  return [lane('objects', [{ name: 'verify-backups', recur }])]
}

export async function verifyNextBackup(control: DatabasesContext, ending: AbortSignal): Promise<void> {
  const { fleet, database, lock, log } = control
  const { held } = lock
  await endAbandonedVerifications(database.pool)
  const [row] = await transaction(database.pool, async (client) => {
    await lockVerifications(client)
    return claimVerification(client, fleet.reachable, VERIFICATION_SECONDS)
  })
  if (row === undefined) return
  const agent = fleet.byId(row.agent_id)
  if (agent === undefined || !hasRoom(agent, 2 * row.memory_mb)) {
    await postponeVerification(database.pool, row.id, NO_ROOM_RETRY_SECONDS, 0)
    return
  }
  const noRoom = new AbortController()
  const signal = AbortSignal.any([ending, noRoom.signal, AbortSignal.timeout(VERIFICATION_SECONDS * 1000)])
  const over = new AbortController()
  const watching = watchRoom(agent, row.memory_mb, noRoom, over.signal)
  try {
    const wrong = await tryBackup(control, row, signal)
    await setVerified(database.pool, row.id, wrong === null ? 'ok' : 'failed', wrong)
    if (wrong !== null) log.error({ backup: row.id, database: row.database_id, wrong }, 'backup is damaged')
  } catch (error) {
    // A process that has lost its lock counts as ended, so another one may have removed the sandbox.
    await postpone(control, row, error, signal.aborted || lock.held !== held)
  } finally {
    over.abort()
    await watching
  }
}

/** @returns the damage found; `null` if there is none */
async function tryBackup(control: DatabasesContext, row: VerificationRow, signal: AbortSignal): Promise<string | null> {
  const id = randomUUID() as SandboxId
  await insertVerification(control.database.pool, id)
  try {
    const made = await createSandbox(control, {
      id,
      workspaceId: row.workspace_id,
      requestId: id,
      manager: { by: 'proof', id: row.database_id },
      withoutMemory: true,
      body: {
        template: DATABASE_TEMPLATES[row.size],
        from_snapshot: row.id,
        ttl_seconds: VERIFICATION_SECONDS,
        network: { egress: 'none' },
      } as unknown as Parameters<typeof createSandbox>[1]['body'],
    })
    signal.throwIfAborted()
    const { adminToken } = openSecrets(control.databaseSecrets, row.secrets)
    return await checkServer(control.fleet, made, adminToken, signal)
  } finally {
    const [left] = await sandboxById(control.database.pool, id)
    if (left !== undefined)
      await removeSandbox(control, left, id).catch(async (err: unknown) => {
        control.log.warn({ err, sandbox: id }, 'sandbox of a verification not removed: the reaper removes it')
        await setDeletionDue(control.database.pool, id)
      })
  }
}

async function postpone(
  { database: { pool }, fleet, log }: DatabasesContext,
  row: VerificationRow,
  error: unknown,
  isInterrupted: boolean,
) {
  log.warn({ err: error, backup: row.id }, 'verification of a backup not finished')
  // The attempt was aborted, or host, agent or credit were not available. None of that says anything about the backup.
  const isAway = fleet.byId(row.agent_id)?.isReachable !== true
  const isRefused = error instanceof ApiError && NOT_THE_BACKUP.has(error.kind)
  const isElsewhere = isInterrupted || isAway || isRefused || (await hasFullDisk(fleet, row).catch(() => true))
  const retrySeconds = isElsewhere ? NO_ROOM_RETRY_SECONDS : RETRY_SECONDS[row.proof_tries]
  if (retrySeconds !== undefined) {
    await postponeVerification(pool, row.id, retrySeconds, isElsewhere ? 0 : 1)
    return
  }
  const reason = error instanceof Error ? error.message : String(error)
  await setVerified(pool, row.id, 'failed', `it could not be restored: ${reason}`.slice(0, 500))
}

async function hasFullDisk(fleet: Fleet, { id, agent_id: agentId }: VerificationRow): Promise<boolean> {
  const call = { method: 'GET', path: '/v1/disk', requestId: id, timeoutMs: DISK_LOOK_MS } as const
  const { free_bytes: free } = agentDisk.parse(await fleet.byId(agentId)?.client.ask(call))
  return free < DISK_TO_SPARE_BYTES
}

/** Whether the host has this much memory free, and may commit this much. */
function hasRoom({ info, promisedMib, isReachable }: KnownAgent, mib: number): boolean {
  if (info === null || !isReachable) return false
  const { available, committed, commit_limit: limit } = info.memory_mib
  return available - promisedMib >= mib + MIB_TO_SPARE && limit - committed - promisedMib >= mib
}

/** Aborts the verification when less memory is free than the verification itself uses. */
async function watchRoom(agent: KnownAgent, mib: number, noRoom: AbortController, over: AbortSignal): Promise<void> {
  while (!over.aborted) {
    await delay(LOOK_MS, undefined, { signal: over }).catch(() => undefined)
    if (!over.aborted && agent.isReachable && !hasRoom(agent, mib)) noRoom.abort(new Error('others need the memory'))
  }
}
