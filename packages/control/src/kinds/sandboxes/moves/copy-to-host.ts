import { agentOrNone } from '../../../fleet/agent-or-none.ts'
import { copyArchive } from '../../../fleet/copy-archive.ts'
import { copySandbox } from '../../../fleet/move-calls.ts'
import { untilApplied } from '../../../fleet/reconcile.ts'
import { carry } from './carry.ts'
import { giveUp, type MoveRun } from './move-context.ts'

/**
 * Second step: copies the sandbox, and decides that it is on the other host from now on. Until then, the sandbox is the
 * source's.
 * @returns whether to go on
 */
export async function copyToHost(run: MoveRun): Promise<boolean> {
  const { control, move } = run
  const source = await agentOrNone(control, move.from_agent)
  const destination = await agentOrNone(control, move.to_agent ?? '')
  if (source === 'away') return false
  if (source === 'gone' || move.owner !== move.from_agent) return giveUp(run, 'the sandbox was deleted', true)
  if (destination === 'gone') return giveUp(run, 'the destination was removed')
  if (destination === 'away') return giveUp(run, 'the destination does not answer')
  // Then control has everything that the source says of the sandbox, before another host speaks of it.
  await untilApplied(control.database.pool, move.from_agent, move.source_seq ?? 0, run.signal)
  return carry(run, destination, {
    action: 'sandbox.moved',
    send: (to, have) => copySandbox({ ...to, source, have }),
    ...(move.has_archive && {
      sendArchive: ({ subject, onBytes, signal }) =>
        copyArchive({ agent: source, subject }, { agent: destination, subject }, { onBytes, signal }),
    }),
    mayCommit: async () => true,
  })
}
