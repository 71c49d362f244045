import { setTimeout as wait } from 'node:timers/promises'
import type { ObjectCopies, HostObjects } from '../../store/objects/object-copies.ts'
import type { SnapshotRecord } from '../../store/snapshots/snapshot-record.ts'
import type { Host } from '../model/host.ts'
import type { Sandbox } from '../model/sandbox.ts'
import { uploadArchive } from './upload-archive.ts'
import { uploadBackup } from './upload-backup.ts'

/** Milliseconds between two rounds. */
const ROUND_MS = 2000

/**
 * Uploads archives and backups in the background, one object at a time, and deletes objects that are recorded as unneeded. What
 * fails waits on this host's disk for a later round, and delays nothing else.
 */
export class ObjectWatch {
  readonly #host: Host
  readonly #stop = new AbortController()

  constructor(host: Host) {
    this.#host = host
    if (host.store.objects !== null) void this.#run(host.store.objects)
  }

  stop(): void {
    this.#stop.abort()
  }

  async #run(objects: HostObjects): Promise<void> {
    const { signal } = this.#stop
    while (!signal.aborted) {
      await this.#round(objects).catch((error: unknown) =>
        this.#host.log.error({ err: error }, 'a round of uploads failed'),
      )
      await wait(ROUND_MS, undefined, { signal }).catch(() => undefined)
    }
  }

  async #round({ archives, backups }: HostObjects): Promise<void> {
    const { sandboxes, store } = this.#host
    const { signal } = this.#stop
    for (const sandbox of [...sandboxes.values()].filter(isArchived)) {
      const { id } = sandbox
      await this.#attempt(archives, id, async () =>
        uploadArchive(archives, id, await store.archives.of(sandbox), signal),
      )
      // It was deleted meanwhile, perhaps before there was a record of its objects.
      if (sandboxes.get(id) !== sandbox) await archives.files.end(id, 'the database was deleted during an upload')
    }
    for (const record of store.snapshots.all.filter(isBackup)) {
      if (!store.snapshots.has(record.id)) continue
      await this.#attempt(backups, record.id, () => uploadBackup(store, backups, record, signal))
      if (!store.snapshots.has(record.id)) await backups.files.end(record.id, 'the backup was deleted during an upload')
    }
    for (const copies of [archives, backups])
      await this.#attempt(copies, 'deletion', () => copies.deleteDropped(signal))
  }

  /** Logs each reason once: a bucket may be unreachable for days. */
  async #attempt({ errors }: ObjectCopies, owner: string, work: () => Promise<void>): Promise<void> {
    try {
      await work()
      errors.delete(owner)
    } catch (error) {
      if (this.#stop.signal.aborted) return
      const reason = error instanceof Error ? error.message : String(error)
      if (errors.get(owner) !== reason) this.#host.log.warn({ err: error, owner }, 'objects cannot be stored')
      errors.set(owner, reason)
    }
  }
}

/** Only databases are durable. Their snapshots are their backups, except for those that a branch makes. */
function isBackup({ durable, origin }: SnapshotRecord): boolean {
  return durable && origin === 'user'
}

function isArchived({ manifest, leaving }: Sandbox): boolean {
  return manifest.durable && !leaving.signal.aborted
}
