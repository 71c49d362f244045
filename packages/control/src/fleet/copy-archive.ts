import type { ArchivedFile } from '@offshoot/contract/agent-archive'
import type { AgentClient } from './agent-client.ts'
import { listArchived, putArchived, readArchived } from './archive-calls.ts'
import { SourceFailed } from './stream-calls.ts'
import type { Subject } from './sandbox-calls.ts'

/** The archive of a sandbox on one host. */
export interface ArchivePlace {
  readonly agent: AgentClient
  readonly subject: Subject
}

interface Options {
  readonly isWanted?: (file: ArchivedFile) => boolean
  /** Called with the number of each file's bytes. */
  readonly onBytes?: (count: number) => void
  readonly signal: AbortSignal
}

/**
 * Copies the files of an archive that another one lacks, one by one. Resolves when everything is on the destination's
 * disk. Repeatable.
 * @throws SourceFailed, or AgentUnreachable and AgentRefused of the destination
 */
export async function copyArchive(source: ArchivePlace, destination: ArchivePlace, options: Options): Promise<void> {
  const { isWanted = () => true, onBytes, signal } = options
  const there = await archivedNames(destination)
  for await (const file of filesOf(source, ofSource)) {
    if (there.has(file.name) || !isWanted(file)) continue
    signal.throwIfAborted()
    const content = await readArchived(source.agent, source.subject, file.name, signal).catch(ofSource)
    // A prune has removed it: no backup needs it.
    if (content === null) continue
    await putArchived(destination.agent, destination.subject, file, content, signal)
    onBytes?.(content.length)
  }
}

/** @throws AgentUnreachable and AgentRefused */
export async function archivedNames(place: ArchivePlace): Promise<Set<string>> {
  const names = new Set<string>()
  for await (const { name } of filesOf(place)) names.add(name)
  return names
}

/** All files that the archive has at the end, each once. */
async function* filesOf({ agent, subject }: ArchivePlace, fail = rethrow): AsyncGenerator<ArchivedFile> {
  for (let after = ''; ;) {
    const { cursor, files } = await listArchived(agent, subject, after).catch(fail)
    if (files.length === 0) return
    yield* files
    after = cursor
  }
}

function rethrow(error: unknown): never {
  throw error
}

function ofSource(error: unknown): never {
  throw new SourceFailed('the archive of the source cannot be read', { cause: error })
}
