import { putArchived } from '../../fleet/archive-calls.ts'
import type { ArchivePlace } from '../../fleet/copy-archive.ts'
import type { NeededSegment } from './recovery-statements.ts'
import type { StoredSegments } from './stored-archives/stored-segments.ts'

/** The object store lacks a file that it should have, or cannot be read. */
export class NotStored extends Error {
  override readonly name = 'NotStored'
}

/**
 * Sends files of a database's archive from the object store to the archive of a sandbox. Repeatable.
 * @throws NotStored: a recovery would take a missing file for the end of the archive. AgentUnreachable and AgentRefused
 *   of the host
 */
export async function sendStored(
  store: StoredSegments,
  segments: readonly NeededSegment[],
  databaseId: string,
  { agent, subject }: ArchivePlace,
  signal: AbortSignal,
): Promise<void> {
  for (const { name, taken_at: takenAt } of segments) {
    signal.throwIfAborted()
    const read = await store.read({ workspaceId: subject.workspaceId, databaseId, name }, signal)
    if (read.state !== 'present')
      throw new NotStored(`the object store: ${read.state === 'absent' ? `${name} is missing` : read.reason}`)
    await putArchived(agent, subject, { name, taken_at: takenAt.toISOString() }, read.content, signal)
  }
}
