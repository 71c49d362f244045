import { ApiError } from '@offshoot/contract/errors'
import type { SandboxId, VolumeId } from '@offshoot/contract/ids'
import type { VolumeRecord } from './volume-record.ts'

/** The holder of a volume: a sandbox, or an operation of the agent on it. */
export type Holder = { readonly sandboxId: SandboxId } | { readonly work: 'copied' | 'changed' }

interface Hold {
  readonly holder: Holder
  readonly isReadOnly: boolean
}

/**
 * The holders of each volume: one writer, or any number of readers. A guest cannot read an ext4 file system while another
 * guest writes to it. A claim is synchronous, so that of two concurrent claims one is refused. In memory only: after a restart
 * the agent restores the holders from the sandboxes' manifests.
 */
export class Holders {
  readonly #holds = new Map<VolumeId, Hold[]>()

  /** Claims all of the volumes or none. @throws ApiError 409 naming volume and holder */
  claim(wanted: readonly { readonly volume: VolumeRecord; readonly isReadOnly: boolean }[], holder: Holder): void {
    for (const { volume, isReadOnly } of wanted) this.#refuse(volume, isReadOnly)
    for (const { volume, isReadOnly } of wanted) this.keep(volume.id, { holder, isReadOnly })
  }

  /** Adds a holder without a check, for a sandbox that held the volume before the agent started. */
  keep(id: VolumeId, hold: Hold): void {
    this.#holds.set(id, [...this.of(id), hold])
  }

  /** Releases all volumes of a holder. */
  release(holder: Holder): void {
    for (const [id, holds] of this.#holds) {
      const left = holds.filter((hold) => !isSame(hold.holder, holder))
      if (left.length > 0) this.#holds.set(id, left)
      else this.#holds.delete(id)
    }
  }

  of(id: VolumeId): readonly Hold[] {
    return this.#holds.get(id) ?? []
  }

  /** The sandboxes that hold a volume. */
  attachments(id: VolumeId): { sandbox_id: SandboxId; read_only: boolean }[] {
    return this.of(id).flatMap(({ holder, isReadOnly }) =>
      'sandboxId' in holder ? [{ sandbox_id: holder.sandboxId, read_only: isReadOnly }] : [],
    )
  }

  #refuse({ id, name }: VolumeRecord, isReadOnly: boolean): void {
    const conflicting = this.of(id).find((hold) => !isReadOnly || !hold.isReadOnly)
    if (conflicting === undefined) return
    const { holder } = conflicting
    if ('work' in holder)
      throw new ApiError('volumeBusy', { error: `volume ${name} is being ${holder.work}`, volume: name })
    const how = conflicting.isReadOnly ? 'read by' : 'attached to'
    throw new ApiError('volumeAttached', {
      error: `volume ${name} is ${how} sandbox ${holder.sandboxId}`,
      volume: name,
      attached_to: holder.sandboxId,
    })
  }
}

function isSame(a: Holder, b: Holder): boolean {
  return 'sandboxId' in a && 'sandboxId' in b ? a.sandboxId === b.sandboxId : a === b
}
