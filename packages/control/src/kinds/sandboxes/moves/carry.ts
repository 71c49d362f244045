import type { AgentClient } from '../../../fleet/agent-client.ts'
import { AgentRefused, AgentUnreachable } from '../../../fleet/agent-failure.ts'
import { bakesOf, type Import, settle } from '../../../fleet/move-calls.ts'
import { changeOwner, commitMove, isCopying, type MoveRow } from '../../../fleet/move-statements.ts'
import { look } from '../../../fleet/sandbox-calls.ts'
import { lacksBake, reasonOf, SourceFailed } from '../../../fleet/stream-calls.ts'
import { serviceActor } from '../../../platform/audit/actor.ts'
import { recordAuditEvent } from '../../../platform/audit/audit-statements.ts'
import type { Queryable } from '../../../platform/db/statement.ts'
import { transaction } from '../../../platform/db/transaction.ts'
import { giveUp, type MoveRun } from './move-context.ts'

/** Milliseconds between two looks whether the copy is still wanted. */
const LOOK_MS = 1_000
/** Milliseconds without progress after which the destination does not answer. */
const STALLED_MS = 120_000

const CANCELLED = new Error('the move was given up')
const STALLED = 'the destination takes no more bytes'

/** Where the bytes of a sandbox come from. */
export interface Carried {
  readonly action: 'sandbox.moved' | 'sandbox.recovered'
  /** @param have bakes that the bytes may lack. @throws SourceFailed */
  readonly send: (to: Import, have: readonly string[]) => Promise<void>
  /** Sends what does not come with the sandbox. Repeatable. @throws SourceFailed */
  readonly sendArchive?: (to: Import) => Promise<void>
  /** A further condition of the commit. */
  readonly mayCommit: (client: Queryable) => Promise<boolean>
}

/**
 * Sends the sandbox to the destination, and decides in one transaction that it is there from now on.
 * @returns whether to go on
 */
export async function carry(run: MoveRun, destination: AgentClient, carried: Carried): Promise<boolean> {
  const have = (await hasArrived(run, destination)) ? null : await prepare(run, destination)
  try {
    const bytes = await send(run, destination, carried, have)
    const { last_seq: seq } = await destination.info(run.subject.requestId)
    await commit(run, carried, bytes, seq)
  } catch (error) {
    run.signal.throwIfAborted()
    if (error === CANCELLED) return giveUp(run, 'the sandbox was deleted or has failed, or is used again', true)
    if (error instanceof SourceFailed) {
      if (!(error.cause instanceof AgentRefused)) throw error
      if (error.cause.status !== 503) return giveUp(run, reasonOf(error.cause))
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

/**
 * @param have `null`: the sandbox itself has arrived
 * @returns the number of bytes; `null`: not known
 */
async function send(run: MoveRun, destination: AgentClient, carried: Carried, have: readonly string[] | null) {
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
    const to = { destination, subject, moveId: move.id, onBytes, signal: both }
    if (have !== null) await sendSandbox(carried, to, have)
    await carried.sendArchive?.(to)
    return have === null ? null : bytes
  } catch (error) {
    if (ended.signal.reason === CANCELLED) throw CANCELLED
    throw error
  } finally {
    clearInterval(watch)
  }
}

async function sendSandbox(carried: Carried, to: Import, have: readonly string[]): Promise<void> {
  try {
    await carried.send(to, have)
  } catch (error) {
    if (!lacksBake(error) || have.length === 0) throw error
    await carried.send(to, [])
  }
}

/** The point of truth. If the answer of PostgreSQL is lost, the next run reads the row. */
async function commit({ control, move, subject }: MoveRun, carried: Carried, bytes: number | null, seq: number) {
  const { id, sandbox_id: sandboxId, workspace_id: workspaceId } = move
  const [from, to] = ownersOf(move)
  await transaction(control.database.pool, async (client) => {
    const [committed] = await commitMove(client, id, bytes)
    const may = committed !== undefined && (await carried.mayCommit(client))
    const [changed] = may ? await changeOwner(client, sandboxId, from, to, seq) : []
    if (changed === undefined) throw CANCELLED
    await recordAuditEvent(client, serviceActor(subject.requestId), {
      workspaceId,
      action: carried.action,
      target: sandboxId,
      details: { from, to },
    })
  })
}

function ownersOf({ from_agent: from, to_agent: to }: MoveRow): [string, string] {
  if (to === null) throw new Error('a move without a destination')
  return [from, to]
}
