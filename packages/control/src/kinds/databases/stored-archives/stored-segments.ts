import { hkdfSync } from 'node:crypto'
import type { ControlConfig } from '@offshoot/contract/process-config'
import type { ObjectPlace } from '@offshoot/kit/objects/object-place'
import { type ObjectRead, Objects, placeOf } from '@offshoot/kit/objects/objects'
import type { SandboxesContext } from '../../sandboxes/model/sandboxes-context.ts'

const KEY_BYTES = 32

export interface ArchivesContext extends SandboxesContext {
  /** Files of archives in the object store; `null`: there is none. */
  readonly storedSegments: StoredSegments | null
}

/** A file of the archive of a database. */
interface SegmentName {
  readonly workspaceId: string
  readonly databaseId: string
  readonly name: string
}

/**
 * Files of archives in the object store: `wal/DATABASE-ID/NAME`, compressed by the agent. The key of a workspace is
 * derived from the service's, and an object's name is authenticated with its content. The rows say which objects there
 * may be; nothing is ever listed.
 */
export class StoredSegments {
  readonly #place: ObjectPlace
  readonly #key: Buffer

  constructor({ store, key }: NonNullable<ControlConfig['objects']>) {
    this.#place = placeOf(store)
    this.#key = Buffer.from(key, 'base64')
  }

  /** @throws if that is not certain */
  async put(file: SegmentName, content: Buffer, signal: AbortSignal): Promise<void> {
    await this.#of(file).put(nameOf(file), content, signal)
  }

  async read(file: SegmentName, signal: AbortSignal): Promise<ObjectRead> {
    return this.#of(file).get(nameOf(file), signal)
  }

  async remove(file: SegmentName, signal: AbortSignal): Promise<void> {
    await this.#of(file).remove(nameOf(file), signal)
  }

  #of({ workspaceId }: SegmentName): Objects {
    const key = hkdfSync('sha256', this.#key, '', `offshoot stored archives of ${workspaceId}`, KEY_BYTES)
    return new Objects(this.#place, Buffer.from(key))
  }
}

function nameOf({ databaseId, name }: SegmentName): string {
  return `wal/${databaseId}/${name}`
}
