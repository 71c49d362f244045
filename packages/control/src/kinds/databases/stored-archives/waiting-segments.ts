import type { AgentArchive } from '@offshoot/contract/agent-archive'
import type { AgentClient } from '../../../fleet/agent-client.ts'
import { GAP, listArchived } from '../../../fleet/archive-calls.ts'
import type { Subject } from '../../../fleet/sandbox-calls.ts'
import { storedAmong, storedArchive } from './stored-archive-statements.ts'
import type { ArchivesContext } from './stored-segments.ts'

/** What would be lost with the host: the files that control has not stored yet. */
export async function waitingSegments(
  { pool }: ArchivesContext['database'],
  agent: AgentClient,
  agentId: string | null,
  subject: Subject,
): Promise<NonNullable<AgentArchive['objects']>> {
  const [archive] = await storedArchive(pool, subject.id)
  let after = archive?.listed_agent === agentId ? (archive?.cursor ?? '') : ''
  let bytes = 0
  let oldestMs = Date.now()
  for (;;) {
    const { cursor, files } = await listArchived(agent, subject, after)
    if (files.length === 0) break
    const names = files.map(({ name }) => name)
    const stored = new Set((await storedAmong(pool, subject.id, names)).map(({ name }) => name))
    for (const { name, bytes: size, taken_at: takenAt } of files) {
      if (name === GAP || stored.has(name)) continue
      bytes += size
      oldestMs = Math.min(oldestMs, Date.parse(takenAt))
    }
    after = cursor
  }
  return { waiting_bytes: bytes, waiting_seconds: (Date.now() - oldestMs) / 1000, error: archive?.error ?? null }
}
