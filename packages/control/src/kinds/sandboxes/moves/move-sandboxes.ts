import { setTimeout as delay } from 'node:timers/promises'
import { AgentUnreachable } from '../../../fleet/agent-failure.ts'
import { SourceFailed } from '../../../fleet/stream-calls.ts'
import { moveById, type MoveRow, type MoveState, unsettledMoves } from '../../../fleet/move-statements.ts'
import type { RowTask } from '../../../platform/jobs/task.ts'
import type { SandboxesContext } from '../model/sandboxes-context.ts'
import { copyToHost } from './copy-to-host.ts'
import { leaveHost } from './leave-host.ts'
import { restoreCopy } from './restore-copy.ts'
import type { MoveRun } from './move-context.ts'
import { clean, finish, takeBack, takeBackNothing } from './settle-hosts.ts'

/** Seconds between two runs of the job of a move that does not get on. */
const RETRY_SECONDS = 10
/** Failures of one step within one run: an answer may be lost, and nobody can use the sandbox meanwhile. */
const MAX_FAILURES = 3
const FAILURE_MS = 100

/**
 * Moves a hibernated sandbox to another host (docs/internal-api.md). The row of the move says what has been done, and
 * each step may be repeated. Before the commit, everything can be taken back. After it, the move only goes on. A
 * sandbox can wake on one of the two hosts only: the source refuses from `leaving` until it is told to keep the sandbox,
 * and the destination until it is told the same, and a row is never both failed and committed.
 */
export function moveSandboxes(control: SandboxesContext): RowTask {
  const { fleet, database } = control
  return {
    name: 'move-sandbox',
    retrySeconds: RETRY_SECONDS,
    due: (limit) => unsettledMoves(database.pool, limit, fleet.reachable),
    async work({ id, requestId, signal }) {
      for (let failures = 0; ;) {
        signal.throwIfAborted()
        const [move] = await moveById(database.pool, id)
        if (move === undefined) return
        const subject = { id: move.sandbox_id, workspaceId: move.workspace_id, requestId }
        const step = nextStep(move)
        if (step === null) return
        try {
          if (!(await step({ control, move, subject, signal }))) return
          failures = 0
        } catch (error) {
          failures += 1
          if (failures === MAX_FAILURES || !isOfHost(error)) throw error
          await delay(FAILURE_MS, undefined, { signal })
        }
      }
    },
  }
}

/** The step after each state of a move that has not ended. */
const STEPS: Readonly<Record<MoveState, ((run: MoveRun) => Promise<boolean>) | null>> = {
  leaving: leaveHost,
  copying: copyToHost,
  committed: finish,
  done: null,
  failed: takeBack,
}

function isOfHost(error: unknown): boolean {
  return error instanceof AgentUnreachable || error instanceof SourceFailed
}

/** `null`: everything is done. */
function nextStep(move: MoveRow): ((run: MoveRun) => Promise<boolean>) | null {
  if (move.finished_at !== null) return move.left_behind === null ? null : clean
  const { copy_id: copyId, backup_id: backupId, state } = move
  // The job `recover-databases` does it.
  if (backupId !== null && state === 'copying') return null
  if (copyId !== null && state === 'copying') return (run) => restoreCopy(run, copyId)
  if ((copyId !== null || backupId !== null) && state === 'failed') return takeBackNothing
  return STEPS[state]
}
