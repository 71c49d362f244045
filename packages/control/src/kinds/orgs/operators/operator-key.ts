import { createHash, timingSafeEqual } from 'node:crypto'

/** The key of those who run the service, known by its hash alone. */
export class OperatorKey {
  readonly #hash: Buffer | null

  /** @param sha256 in hex; without it no key matches */
  constructor(sha256: string | undefined) {
    this.#hash = sha256 === undefined ? null : Buffer.from(sha256, 'hex')
  }

  /** Takes the same time wherever the hashes differ. */
  matches(token: string): boolean {
    const hash = createHash('sha256').update(token).digest()
    return this.#hash !== null && timingSafeEqual(hash, this.#hash)
  }
}
