import type { AgentArchive } from '@offshoot/contract/agent-archive'
import type { SandboxId } from '@offshoot/contract/ids'
import type { Archive } from '../../store/archives/archive.ts'
import { GAP } from '../../store/archives/spool.ts'
import type { ObjectCopies } from '../../store/objects/object-copies.ts'

/** Uploads the archived files that the object store lacks, the oldest first. @throws if one cannot be uploaded */
export async function uploadArchive(
  copies: ObjectCopies,
  id: SandboxId,
  archive: Archive,
  signal: AbortSignal,
): Promise<void> {
  for (const name of await waitingNames(copies, id, archive)) {
    const packed = await archive.readPacked(name)
    if (packed !== null) await copies.put(id, name, packed, signal)
  }
}

/** What would be lost with this host. */
export async function showWaiting(
  copies: ObjectCopies,
  id: SandboxId,
  archive: Archive,
): Promise<NonNullable<AgentArchive['objects']>> {
  const names = await waitingNames(copies, id, archive)
  const files = names.flatMap((name) => archive.fileOf(name) ?? [])
  const oldestMs = Math.min(Date.now(), ...files.map(({ takenAtMs }) => takenAtMs))
  return {
    waiting_bytes: files.reduce((sum, { bytes }) => sum + bytes, 0),
    waiting_seconds: (Date.now() - oldestMs) / 1000,
    error: copies.errors.get(id) ?? null,
  }
}

/** The gap marker is no file that a recovery asks for. */
async function waitingNames({ files }: ObjectCopies, id: SandboxId, archive: Archive): Promise<string[]> {
  const stored = await files.stored(id)
  return archive.names.filter((name) => name !== GAP && !stored.has(name))
}
