import { giveUpMove, type MoveRow } from '../../../fleet/move-statements.ts'
import type { Subject } from '../../../fleet/sandbox-calls.ts'
import type { SandboxesContext } from '../model/sandboxes-context.ts'

/** One run of the job of a move. */
export interface MoveRun {
  readonly control: SandboxesContext
  readonly move: MoveRow
  readonly subject: Subject
  /** Aborts when the process stops, or no longer holds the job. */
  readonly signal: AbortSignal
}

/**
 * Gives the move up. Changes nothing if it is committed, or was given up before.
 * @param isFinal whether this drain tries no other host
 * @returns whether to go on
 */
export async function giveUp({ control, move }: MoveRun, reason: string, isFinal = false): Promise<true> {
  await giveUpMove(control.database.pool, move.id, reason, isFinal)
  return true
}
