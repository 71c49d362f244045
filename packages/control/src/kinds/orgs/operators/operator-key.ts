import { createHash, timingSafeEqual } from 'node:crypto'

/** The operator's key. Control knows only its hash. */
export class OperatorKey {
  readonly #hash: Buffer | null

  /** @param sha256 in hex; without it no key matches */
  constructor(sha256: string | undefined) {
    this.#hash = sha256 === undefined ? null : Buffer.from(sha256, 'hex')
  }

  /** Compares in constant time. */
  matches(token: string): boolean {
    const hash = createHash('sha256').update(token).digest()
    return this.#hash !== null && timingSafeEqual(hash, this.#hash)
  }
}
