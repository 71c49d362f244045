import { join } from 'node:path'
import type { AgentConfig } from '@offshoot/contract/process-config'
import { type ObjectRead, Objects } from '@offshoot/kit/objects/objects'
import { emptyFolder } from '../data-dir/folders.ts'
import type { DataDir } from '../data-dir/data-dir.ts'
import { StoredFiles } from './stored-files.ts'

export interface HostObjects {
  /** Archived files, by sandbox. */
  readonly archives: ObjectCopies
  /** Chunks and manifests of backups, by snapshot. */
  readonly backups: ObjectCopies
}

/** Deletes what a killed agent has not finished. @returns `null` if the operator has chosen no object store */
export async function openObjects(
  { objects: settings }: Pick<AgentConfig, 'objects'>,
  dir: Pick<DataDir, 'objects' | 'restoring'>,
): Promise<HostObjects | null> {
  await emptyFolder(dir.restoring)
  if (settings === undefined) return null
  const objects = Objects.of(settings)
  const copiesOf = (kind: string) => new ObjectCopies(objects, new StoredFiles(join(dir.objects, kind)), kind)
  return { archives: copiesOf('archives'), backups: copiesOf('backups') }
}

/** The objects of one kind, `KIND/OWNER/NAME`, with the host's records of them. */
export class ObjectCopies {
  readonly files: StoredFiles
  /** Why the last upload failed, by owner. */
  readonly errors = new Map<string, string>()
  readonly #objects: Objects
  readonly #kind: string

  constructor(objects: Objects, files: StoredFiles, kind: string) {
    this.#objects = objects
    this.files = files
    this.#kind = kind
  }

  /** Uploads a file. If the agent is killed meanwhile, the caller repeats it. */
  async put(owner: string, name: string, content: Uint8Array, signal: AbortSignal): Promise<void> {
    await this.files.begin(owner, name)
    await this.#objects.put(this.#nameOf(owner, name), content, signal)
    await this.files.finish(owner, name)
  }

  get(owner: string, name: string, signal: AbortSignal): Promise<ObjectRead> {
    return this.#objects.get(this.#nameOf(owner, name), signal)
  }

  /** Deletes the objects that the records call unneeded. */
  async deleteDropped(signal: AbortSignal): Promise<void> {
    for (const owner of await this.files.owners()) {
      for (const name of await this.files.dropped(owner)) {
        await this.#objects.remove(this.#nameOf(owner, name), signal)
        await this.files.forget(owner, name)
      }
      await this.files.close(owner)
    }
  }

  #nameOf(owner: string, name: string): string {
    return `${this.#kind}/${owner}/${name}`
  }
}
