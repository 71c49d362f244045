import { agentOrNone } from '../../../fleet/agent-or-none.ts'
import { takeCopy } from '../../../fleet/copy-statements.ts'
import { type Import, importStream } from '../../../fleet/move-calls.ts'
import { SourceFailed } from '../../../fleet/stream-calls.ts'
import { streamsOfCopy } from '../../../fleet/stream-statements.ts'
import { StoreFailed } from '../model/stored-streams.ts'
import { carry } from './carry.ts'
import { joinStreams } from './join-streams.ts'
import { giveUp, type MoveRun } from './move-context.ts'

/**
 * Second step of a move whose source is lost: sends the stored copy to the destination. The commit takes the copy, so it
 * fails if the source has got the sandbox back.
 * @returns whether to go on
 */
export async function restoreCopy(run: MoveRun, copyId: string): Promise<boolean> {
  const { control, move } = run
  const destination = await agentOrNone(control, move.to_agent ?? '')
  if (move.owner !== move.from_agent) return giveUp(run, 'the sandbox was deleted', true)
  if (destination === 'gone') return giveUp(run, 'the destination was removed')
  if (destination === 'away') return giveUp(run, 'the destination does not answer')
  try {
    return await carry(run, destination, {
      action: 'sandbox.recovered',
      send: (to, have) => sendCopy(run, copyId, to, have.length === 0),
      mayCommit: async (client) => (await takeCopy(client, copyId)).length > 0,
    })
  } catch (error) {
    if (!(error instanceof SourceFailed) || !(error.cause instanceof StoreFailed)) throw error
    control.log.warn({ err: error, sandbox: move.sandbox_id }, 'stored copy not read: trying again later')
    return giveUp(run, error.cause.message)
  }
}

async function sendCopy({ control, move }: MoveRun, copyId: string, to: Import, withBake: boolean): Promise<void> {
  const { database, storedStreams } = control
  const streams = await streamsOfCopy(database.pool, copyId)
  const own = streams.find(({ is_bake: isBake }) => !isBake)
  const bake = streams.find(({ is_bake: isBake }) => isBake)
  if (storedStreams === null || own === undefined || bake === undefined) {
    throw new SourceFailed('no stored copy', { cause: new StoreFailed('the stored copy was given up') })
  }
  const read = (stream: typeof own) => storedStreams.read(stream, to.signal)
  await importStream(joinStreams(read(own), withBake ? read(bake) : null, move.id), to)
}
