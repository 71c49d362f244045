import { ApiError } from '@offshoot/contract/errors'
import type { SandboxId, VolumeId } from '@offshoot/contract/ids'
import type { VolumeRecord } from './volume-record.ts'

/** Who has a volume: a sandbox, or one of us who works on it. */
export type Holder = { readonly sandboxId: SandboxId } | { readonly work: 'copied' | 'changed' }

interface Hold {
  readonly holder: Holder
  readonly isReadOnly: boolean
}

/**
 * One writer, or any number of readers: an ext4 file system that somebody writes is of no use to anybody who reads it
 * beside him. What is claimed here is decided at once, without a wait in between, so that of two who come at the
 * same time one is refused. In memory only: after a restart, it is what the sandboxes' manifests say.
 */
export class Holders {
  readonly #holds = new Map<VolumeId, Hold[]>()

  /** All or none of them. @throws ApiError 409 naming volume and holder */
  claim(wanted: readonly { readonly volume: VolumeRecord; readonly isReadOnly: boolean }[], holder: Holder): void {
    for (const { volume, isReadOnly } of wanted) this.#refuse(volume, isReadOnly)
    for (const { volume, isReadOnly } of wanted) this.keep(volume.id, { holder, isReadOnly })
  }

  /** Without a question: of a sandbox that had it before we started. */
  keep(id: VolumeId, hold: Hold): void {
    this.#holds.set(id, [...this.of(id), hold])
  }

  /** Everything that this holder has. */
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

  /** Sandboxes that have it. */
  attachments(id: VolumeId): { sandbox_id: SandboxId; read_only: boolean }[] {
    return this.of(id).flatMap(({ holder, isReadOnly }) =>
      'sandboxId' in holder ? [{ sandbox_id: holder.sandboxId, read_only: isReadOnly }] : [],
    )
  }

  #refuse({ id, name }: VolumeRecord, isReadOnly: boolean): void {
    const inTheWay = this.of(id).find((hold) => !isReadOnly || !hold.isReadOnly)
    if (inTheWay === undefined) return
    const { holder } = inTheWay
    if ('work' in holder)
      throw new ApiError('volumeBusy', { error: `volume ${name} is being ${holder.work}`, volume: name })
    const how = inTheWay.isReadOnly ? 'read by' : 'attached to'
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
