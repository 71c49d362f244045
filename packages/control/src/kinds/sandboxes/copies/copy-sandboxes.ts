import { AgentRefused } from '../../../fleet/agent-failure.ts'
import { agentOrNone } from '../../../fleet/agent-or-none.ts'
import {
  copyById,
  type CopyRow,
  endCopy,
  noteCopying,
  noteSettled,
  noteStored,
  unsettledCopies,
} from '../../../fleet/copy-statements.ts'
import { settleCopy } from '../../../fleet/held-sandboxes.ts'
import { exportStream, leave } from '../../../fleet/move-calls.ts'
import { untilApplied } from '../../../fleet/reconcile.ts'
import type { Subject } from '../../../fleet/sandbox-calls.ts'
import { reasonOf, SourceFailed } from '../../../fleet/stream-calls.ts'
import type { RowTask } from '../../../platform/jobs/task.ts'
import { StoreFailed } from '../model/stored-streams.ts'
import type { SandboxesContext } from '../model/sandboxes-context.ts'
import { CopyEnded, storeBake, type Storing, storeOwn } from './store-copy.ts'

/** Seconds between two runs of the job of a copy that does not get on. */
const RETRY_SECONDS = 10

/** One run of the job of a copy. */
interface CopyRun {
  readonly control: SandboxesContext
  readonly copy: CopyRow
  readonly subject: Subject
  /** Aborts when the process stops, or no longer holds the job. */
  readonly signal: AbortSignal
}

/**
 * Stores copies of hibernated sandboxes (docs/internal-api.md, "Copy"). The row of the copy says what has been done. From
 * `leaving` on, the host refuses to wake the sandbox. When the sandbox is needed, the copy is given up in one statement,
 * and the host is told. A copy that fails is given up as well, and another one begins later.
 */
export function copySandboxes(control: SandboxesContext): RowTask {
  const { fleet, database } = control
  const hasStore = control.storedStreams !== null
  return {
    name: 'copy-sandbox',
    retrySeconds: RETRY_SECONDS,
    due: (limit) => unsettledCopies(database.pool, limit, fleet.reachable, hasStore),
    async work({ id, requestId, signal }) {
      const run = await runOf(control, id, requestId, signal)
      if (run === null) return
      const { state } = run.copy
      if (state === 'leaving') await make(run)
      // What another run has sent of the stream is not known, and a new copy costs little more.
      if (state === 'copying') await endCopy(database.pool, id, 'the copy was interrupted')
      if (state === 'stored' && !hasStore) await endCopy(database.pool, id, 'there is no object store any more')
      const now = await runOf(control, id, requestId, signal)
      if (now?.copy.state === 'ended') await tell(now)
    },
  }
}

/** `null`: there is nothing to do. */
async function runOf(control: SandboxesContext, id: string, requestId: string, signal: AbortSignal) {
  const [copy] = await copyById(control.database.pool, id)
  if (copy === undefined || copy.is_settled) return null
  const subject = { id: copy.sandbox_id, workspaceId: copy.workspace_id, requestId }
  return { control, copy, subject, signal } satisfies CopyRun
}

async function make(run: CopyRun): Promise<void> {
  const { control, copy, signal } = run
  const { pool } = control.database
  try {
    await store(run)
  } catch (error) {
    signal.throwIfAborted()
    const reason = failureOf(error)
    if (reason === null) throw error
    if (!(error instanceof CopyEnded)) {
      control.log.warn({ err: error, sandbox: copy.sandbox_id }, 'sandbox not copied: trying again later')
    }
    await endCopy(pool, copy.id, reason)
  }
}

async function store(run: CopyRun): Promise<void> {
  const { control, copy, subject, signal } = run
  const { pool } = control.database
  const { storedStreams: streams } = control
  const source = await agentOrNone(control, copy.agent_id)
  if (source === 'away') return
  if (source === 'gone' || copy.owner !== copy.agent_id) throw new CopyEnded('the sandbox is elsewhere, or deleted')
  if (streams === null) throw new CopyEnded('there is no object store')
  const { bake } = await leave(source, subject, copy.id)
  const { last_seq: seq } = await source.info(subject.requestId)
  const [copying] = await noteCopying(pool, copy.id, bake.hash, seq)
  if (copying === undefined) throw new CopyEnded('the copy was given up')
  // Then control has everything that the host says of the sandbox, before another host speaks of it.
  await untilApplied(pool, copy.agent_id, seq, signal)
  const open: Storing['open'] = (part) => {
    const query = part === 'own' ? { have: [bake.hash] } : { have: [], only: 'bake' as const }
    return exportStream(source, subject, { moveId: copy.id, ...query }, signal)
  }
  const storing = { control, copy, streams, signal, open }
  const ofBake = await storeBake(storing, bake.hash)
  const [stored] = await noteStored(pool, copy.id, await storeOwn(storing), ofBake)
  if (stored === undefined) throw new CopyEnded('the copy was given up')
}

/** Why a copy is given up; `null`: the job repeats the step. */
function failureOf(error: unknown): string | null {
  if (error instanceof CopyEnded || error instanceof StoreFailed) return error.message
  if (error instanceof AgentRefused) return reasonOf(error)
  if (!(error instanceof SourceFailed)) return null
  return error.cause instanceof AgentRefused ? reasonOf(error.cause) : error.message
}

/** The copy was given up: its host may wake the sandbox again. */
async function tell({ control, copy, subject }: CopyRun): Promise<void> {
  const { pool } = control.database
  const source = await agentOrNone(control, copy.agent_id)
  if (source === 'gone') await noteSettled(pool, copy.id)
  else if (source !== 'away') await settleCopy(pool, source, subject, copy.id)
}
