import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { FolderPlace } from './folder-place.ts'
import type { ObjectPlace } from './object-place.ts'
import { S3Place, type S3Settings } from './s3-place.ts'

const CIPHER = 'aes-256-gcm'
const NONCE_BYTES = 12
const TAG_BYTES = 16
/** Milliseconds for one object of at most 8 MiB. */
const OBJECT_MS = 60_000

/** Where objects lie, and what encrypts them. */
export interface ObjectSettings {
  readonly store: { readonly folder: string } | { readonly s3: S3Settings }
  /** base64 */
  readonly key: string
}

export type ObjectRead =
  | { readonly state: 'present'; readonly content: Buffer }
  /** The place has answered that it has no such object. */
  | { readonly state: 'absent' }
  /** There may be such an object, but the place cannot be asked, or its content is not what was stored. */
  | { readonly state: 'unreadable'; readonly reason: string }

/** Encrypts objects, and verifies them when they are read: each is authenticated together with its name. */
export class Objects {
  readonly #place: ObjectPlace
  readonly #key: Buffer

  constructor(place: ObjectPlace, key: Buffer) {
    this.#place = place
    this.#key = key
  }

  static of({ store, key }: ObjectSettings): Objects {
    return new Objects(placeOf(store), Buffer.from(key, 'base64'))
  }

  /** Resolves when the object is durable. @throws if that is not certain */
  async put(name: string, content: Uint8Array, signal: AbortSignal): Promise<void> {
    const nonce = randomBytes(NONCE_BYTES)
    const cipher = createCipheriv(CIPHER, this.#key, nonce).setAAD(Buffer.from(name))
    const sealed = [cipher.update(content), cipher.final()]
    await this.#place.put(name, Buffer.concat([nonce, cipher.getAuthTag(), ...sealed]), within(signal))
  }

  async get(name: string, signal: AbortSignal): Promise<ObjectRead> {
    try {
      const sealed = await this.#place.get(name, within(signal))
      return sealed === null ? { state: 'absent' } : { state: 'present', content: this.#open(name, sealed) }
    } catch (error) {
      return { state: 'unreadable', reason: error instanceof Error ? error.message : String(error) }
    }
  }

  async remove(name: string, signal: AbortSignal): Promise<void> {
    await this.#place.remove(name, within(signal))
  }

  #open(name: string, sealed: Buffer): Buffer {
    const nonce = sealed.subarray(0, NONCE_BYTES)
    const tag = sealed.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES)
    const decipher = createDecipheriv(CIPHER, this.#key, nonce, { authTagLength: TAG_BYTES })
    decipher.setAAD(Buffer.from(name)).setAuthTag(tag)
    return Buffer.concat([decipher.update(sealed.subarray(NONCE_BYTES + TAG_BYTES)), decipher.final()])
  }
}

export function placeOf(store: ObjectSettings['store']): ObjectPlace {
  return 'folder' in store ? new FolderPlace(store.folder) : new S3Place(store.s3)
}

function within(signal: AbortSignal): AbortSignal {
  return AbortSignal.any([signal, AbortSignal.timeout(OBJECT_MS)])
}
