import type { AgentClient } from '../../../fleet/agent-client.ts'
import { AgentRefused, AgentUnreachable } from '../../../fleet/agent-failure.ts'
import { bakesOf, copySandbox, settle, SourceFailed } from '../../../fleet/move-calls.ts'
import { changeOwner, commitMove, isCopying, type MoveRow } from '../../../fleet/move-statements.ts'
import { untilApplied } from '../../../fleet/reconcile.ts'
import { look } from '../../../fleet/sandbox-calls.ts'
import { serviceActor } from '../../../platform/audit/actor.ts'
import { recordAuditEvent } from '../../../platform/audit/audit-statements.ts'
import { transaction } from '../../../platform/db/transaction.ts'
import { reasonOf } from './leave-host.ts'
import { agentOf, giveUp, type MoveRun } from './move-context.ts'

/** Milliseconds between two looks whether the copy is still wanted. */
const LOOK_MS = 1_000
/** Milliseconds without progress after which the destination does not answer. */
const STALLED_MS = 120_000

const CANCELLED = new Error('the move was given up')
const STALLED = 'the destination takes no more bytes'

/**
 * Second step: copies the sandbox, and decides in one transaction that it is on the other host from now on. Until then,
 * the sandbox is the source's.
 * @returns whether to go on
 */
export async function copyToHost(run: MoveRun): Promise<boolean> {
  const { control, move } = run
  const source = await agentOf(control, move.from_agent)
  const destination = await agentOf(control, move.to_agent ?? '')
  if (source === 'away') return false
  if (source === 'gone' || move.owner !== move.from_agent) return giveUp(run, 'the sandbox was deleted', true)
  if (destination === 'gone') return giveUp(run, 'the destination was removed')
  if (destination === 'away') return giveUp(run, 'the destination does not answer')
  // Then control has everything that the source says of the sandbox, before another host speaks of it.
  await untilApplied(control.database.pool, move.from_agent, move.source_seq ?? 0, run.signal)
  const have = (await hasArrived(run, destination)) ? null : await prepare(run, destination)
  try {
    const bytes = have === null ? null : await copy(run, source, destination, have)
    const { last_seq: seq } = await destination.info(run.subject.requestId)
    await commit(run, bytes, seq)
  } catch (error) {
    run.signal.throwIfAborted()
    if (error === CANCELLED) return giveUp(run, 'the sandbox was deleted or has failed', true)
    if (error instanceof SourceFailed) {
      if (error.cause instanceof AgentRefused && error.cause.status !== 503) return giveUp(run, reasonOf(error.cause))
      throw error
    }
    if (error instanceof AgentRefused) return giveUp(run, reasonOf(error))
    if (!(error instanceof AgentUnreachable)) throw error
    // The answer may be lost, and everything be there.
    if (!(await hasArrived(run, destination).catch(() => false))) return giveUp(run, 'the destination broke off')
    throw error
  }
  return true
}

async function hasArrived({ subject, move }: MoveRun, destination: AgentClient): Promise<boolean> {
  try {
    const found = await look(destination, subject)
    return found.move?.id === move.id && found.move.direction === 'arriving'
  } catch (error) {
    if (error instanceof AgentRefused && error.status === 404) return false
    throw error
  }
}

/** @returns the bakes that the copy may lack */
async function prepare({ move, subject }: MoveRun, destination: AgentClient): Promise<readonly string[]> {
  // The destination may still receive what a process began to send that is gone.
  await settle(destination, subject, move.id, 'gone')
  return (await bakesOf(destination, subject.requestId)).filter((bake) => bake === move.bake)
}

/** @returns the number of bytes */
async function copy(
  run: MoveRun,
  source: AgentClient,
  destination: AgentClient,
  have: readonly string[],
): Promise<number> {
  const { control, move, subject, signal } = run
  let bytes = 0
  let movedAtMs = performance.now()
  const onBytes = (count: number) => {
    bytes += count
    movedAtMs = performance.now()
  }
  const ended = new AbortController()
  const watch = setInterval(() => {
    if (performance.now() - movedAtMs > STALLED_MS) ended.abort(new Error(STALLED))
    void isCopying(control.database.pool, move.id).then(
      ([wanted]) => wanted ?? ended.abort(CANCELLED),
      () => undefined,
    )
  }, LOOK_MS)
  try {
    const both = AbortSignal.any([signal, ended.signal])
    await copySandbox({ source, destination, subject, moveId: move.id, have, onBytes, signal: both })
    return bytes
  } catch (error) {
    if (ended.signal.reason === CANCELLED) throw CANCELLED
    throw error
  } finally {
    clearInterval(watch)
  }
}

/** The point of truth. If the answer of PostgreSQL is lost, the next run reads the row. */
async function commit({ control, move, subject }: MoveRun, bytes: number | null, seq: number): Promise<void> {
  const { id, sandbox_id: sandboxId, workspace_id: workspaceId } = move
  const [from, to] = ownersOf(move)
  await transaction(control.database.pool, async (client) => {
    const [committed] = await commitMove(client, id, bytes)
    const [changed] = committed === undefined ? [] : await changeOwner(client, sandboxId, from, to, seq)
    if (changed === undefined) throw CANCELLED
    await recordAuditEvent(client, serviceActor(subject.requestId), {
      workspaceId,
      action: 'sandbox.moved',
      target: sandboxId,
      details: { from, to },
    })
  })
}

function ownersOf({ from_agent: from, to_agent: to }: MoveRow): [string, string] {
  if (to === null) throw new Error('a move without a destination')
  return [from, to]
}
