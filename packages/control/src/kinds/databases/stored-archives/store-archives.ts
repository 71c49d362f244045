import type { ArchivedFile } from '@offshoot/contract/agent-archive'
import type { AgentClient } from '../../../fleet/agent-client.ts'
import { AgentRefused } from '../../../fleet/agent-failure.ts'
import { agentOrNone } from '../../../fleet/agent-or-none.ts'
import { GAP, listArchived, readArchive, readArchived } from '../../../fleet/archive-calls.ts'
import type { RowTask } from '../../../platform/jobs/task.ts'
import {
  dueArchive,
  type DueArchive,
  dueArchives,
  noteCursor,
  noteFailure,
  noteLooked,
  noteStored,
  noteStoring,
  storedAmong,
} from './stored-archive-statements.ts'
import type { ArchivesContext, StoredSegments } from './stored-segments.ts'

interface Storing {
  readonly control: Pick<ArchivesContext, 'database'>
  readonly archive: DueArchive
  readonly agent: AgentClient
  readonly store: StoredSegments
  readonly requestId: string
  readonly signal: AbortSignal
}

/**
 * Stores new files of the archives of databases in the object store, for hosts that do not store them by themselves.
 * Looks often while a database runs, and once after it has fallen asleep or moved. What fails waits on the host.
 */
export function storeArchives(control: ArchivesContext): RowTask {
  const { database, fleet, storedSegments: store, log } = control
  const { pool } = database
  return {
    name: 'store-archive',
    due: async (limit) => (store === null ? [] : dueArchives(pool, limit, fleet.reachable)),
    async work({ id, requestId, signal }) {
      const [archive] = store === null ? [] : await dueArchive(pool, id)
      if (archive === undefined || store === null) return
      const agent = await agentOrNone(control, archive.agent_id)
      if (typeof agent === 'string') return
      try {
        await storeNew({ control, archive, agent, store, requestId, signal })
        await noteLooked(pool, id, archive.is_running)
      } catch (error) {
        signal.throwIfAborted()
        log.warn({ err: error, database: id }, 'archive not stored: trying again later')
        await noteFailure(pool, id, error instanceof Error ? error.message : String(error))
      }
    },
  }
}

async function storeNew(storing: Storing): Promise<void> {
  const { control, archive, agent, requestId } = storing
  const { pool } = control.database
  const subject = { id: archive.id, workspaceId: archive.workspace_id, requestId }
  // The first host stores archives by itself (docs/adr/0045-object-store.md).
  if ((await readArchive(agent, subject)).objects !== null) return
  for (let after = archive.listed_agent === archive.agent_id ? archive.cursor : ''; ;) {
    const listed = await listArchived(agent, subject, after).catch(isTooOld)
    if (listed === null || listed.files.length === 0) return
    const names = listed.files.map(({ name }) => name)
    const stored = new Set((await storedAmong(pool, archive.id, names)).map(({ name }) => name))
    for (const file of listed.files) if (file.name !== GAP && !stored.has(file.name)) await storeFile(storing, file)
    after = listed.cursor
    await noteCursor(pool, archive.id, archive.agent_id, after)
  }
}

async function storeFile({ control, archive, agent, store, requestId, signal }: Storing, file: ArchivedFile) {
  const { pool } = control.database
  const { id, workspace_id: workspaceId } = archive
  signal.throwIfAborted()
  const content = await readArchived(agent, { id, workspaceId, requestId }, file.name, signal)
  // A prune has removed it: no backup needs it.
  if (content === null) return
  const [wanted] = await noteStoring(pool, id, file.name, content.length, file.taken_at)
  if (wanted === undefined) return
  await store.put({ workspaceId, databaseId: id, name: file.name }, content, signal)
  await noteStored(pool, id, file.name)
}

function isTooOld(error: unknown): null {
  if (error instanceof AgentRefused && error.status === 404) return null
  throw error
}
