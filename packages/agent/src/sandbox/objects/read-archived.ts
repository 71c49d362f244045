import { setTimeout as wait } from 'node:timers/promises'
import type { SandboxId } from '@offshoot/contract/ids'
import { type Archive, unpackFile } from '../../store/archives/archive.ts'
import type { HostStore } from '../model/host.ts'

/** Attempts to read an object, and milliseconds between two of them. */
const ATTEMPTS = 4
const PAUSE_MS = 1000

/** The object store may have the file, but cannot deliver it. */
export class ArchiveUnreadable extends Error {
  override readonly name = 'ArchiveUnreadable'
}

/**
 * Reads an archived file from this host, or from the object store if this host lacks it.
 * @returns `null` if neither has it
 * @throws ArchiveUnreadable
 */
export async function readArchived(
  { objects }: Pick<HostStore, 'objects'>,
  owner: SandboxId,
  archive: Archive,
  name: string,
  signal: AbortSignal,
): Promise<Buffer | null> {
  const local = await archive.read(name).catch((error: unknown) => {
    if (objects === null) throw error
    return null
  })
  if (local !== null || objects === null) return local
  for (let attempt = 1; ; attempt++) {
    const read = await objects.archives.get(owner, name, signal)
    if (read.state === 'absent') return null
    if (read.state === 'present') return unpackFile(read.content)
    if (attempt === ATTEMPTS || signal.aborted) throw new ArchiveUnreadable(`${name}: ${read.reason}`)
    await wait(PAUSE_MS, undefined, { signal }).catch(() => undefined)
  }
}
