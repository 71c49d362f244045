import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'

const IV_BYTES = 12
const TAG_BYTES = 16
/** Begins a value that names its key; the key's version follows in four bytes. */
const MAGIC = Buffer.from('OSK1')
export const HEADER_BYTES = MAGIC.length + 4

export interface SealingKey {
  readonly version: number
  readonly secret: string
}

/** The keys that a {@link Seal} uses. Version 0 seals without a header, as all values were before keys had versions. */
export interface SealingKeys {
  /** Seals new values. */
  readonly current: SealingKey
  /** `null`: unknown. */
  secretOf(version: number): string | null
}

/** Encrypts secrets before they are stored in the database: AES-256-GCM, under a key derived for one purpose. */
export class Seal {
  readonly #keys: SealingKeys
  readonly #purpose: string
  readonly #derived = new Map<string, Buffer>()

  /** @param purpose a value sealed for one purpose cannot be opened for another */
  constructor(keys: SealingKeys, purpose: string) {
    this.#keys = keys
    this.#purpose = purpose
  }

  close(text: string): Buffer {
    const { version, secret } = this.#keys.current
    const header = version === 0 ? Buffer.alloc(0) : headerOf(version)
    const iv = randomBytes(IV_BYTES)
    const cipher = createCipheriv('aes-256-gcm', this.#derive(secret), iv).setAAD(header)
    return Buffer.concat([header, iv, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()])
  }

  /** @throws Error if another seal made the value, if it was changed, or if its key is gone */
  open(sealed: Buffer): string {
    const isVersioned = sealed.length >= HEADER_BYTES && sealed.subarray(0, MAGIC.length).equals(MAGIC)
    const secret = isVersioned ? this.#keys.secretOf(sealed.readUInt32BE(MAGIC.length)) : null
    if (secret !== null) {
      try {
        return this.#openWith(secret, sealed, HEADER_BYTES)
      } catch (error) {
        // One in 2^32 values without a header begins like one.
        if (this.#keys.secretOf(0) === null) throw error
      }
    }
    return this.#openWith(this.#keys.secretOf(0) ?? '', sealed, 0)
  }

  #openWith(secret: string, sealed: Buffer, headerBytes: number): string {
    const body = sealed.subarray(headerBytes)
    const decipher = createDecipheriv('aes-256-gcm', this.#derive(secret), body.subarray(0, IV_BYTES))
    decipher.setAAD(sealed.subarray(0, headerBytes))
    decipher.setAuthTag(body.subarray(-TAG_BYTES))
    return Buffer.concat([decipher.update(body.subarray(IV_BYTES, -TAG_BYTES)), decipher.final()]).toString('utf8')
  }

  #derive(secret: string): Buffer {
    const known = this.#derived.get(secret)
    if (known !== undefined) return known
    const key = Buffer.from(hkdfSync('sha256', secret, '', `offshoot ${this.#purpose}`, 32))
    this.#derived.set(secret, key)
    return key
  }
}

/** The first bytes of every value that this version sealed. */
export function headerOf(version: number): Buffer {
  const header = Buffer.alloc(HEADER_BYTES)
  MAGIC.copy(header)
  header.writeUInt32BE(version, MAGIC.length)
  return header
}

/** One key without versions. */
export function onlyKey(secret: string): SealingKeys {
  return { current: { version: 0, secret }, secretOf: (version) => (version === 0 ? secret : null) }
}
