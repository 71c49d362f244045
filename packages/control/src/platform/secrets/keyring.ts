import { randomBytes } from 'node:crypto'
import { ApiError } from '@offshoot/contract/errors'
import type pg from 'pg'
import type { Queryable } from '../db/statement.ts'
import { insertSealingKey, resealKey, type SealingKeyRow, sealingKeys } from './keyring-statements.ts'
import { onlyKey, Seal, type SealingKey, type SealingKeys } from './seal.ts'

/** Seconds between the insertion of a key and its first use. By then every process has read it. */
const ACTIVE_AFTER_SECONDS = 15
/** Milliseconds without a successful read of the keys after which this process seals nothing. */
const STALE_MS = 60_000
/** Seconds for which a key must be active before older ones go. Longer than {@link STALE_MS}. */
export const RETIRE_AFTER_SECONDS = 120

/**
 * The keys that seal stored secrets (docs/adr/0024-key-rotation.md). They are rows of the database, sealed by the
 * secrets of the data directory, so that a copy of the database opens nothing.
 *
 * A key lives through: inserted, active (seals new values; older keys only open), superseded, removed. Superseded keys
 * are removed when no value names them.
 */
export class Keyring implements SealingKeys {
  readonly #pool: pg.Pool
  /** Newest first. The newest seals the keys. The oldest is version 0, which sealed values before keys had versions. */
  readonly #roots: readonly string[]
  #secrets: ReadonlyMap<number, string> = new Map()
  #rows: readonly SealingKeyRow[] = []
  #readAtMs = Number.NEGATIVE_INFINITY

  private constructor(pool: pg.Pool, roots: readonly string[]) {
    this.#pool = pool
    this.#roots = roots
  }

  static async open(pool: pg.Pool, roots: readonly string[]): Promise<Keyring> {
    const keyring = new Keyring(pool, roots)
    await keyring.refresh()
    return keyring
  }

  /** @throws Error if this process may have missed a newer key, because the keys could not be read for a minute */
  get current(): SealingKey {
    if (performance.now() - this.#readAtMs > STALE_MS)
      throw new Error('the sealing keys could not be read for a minute')
    return this.#current
  }

  secretOf(version: number): string | null {
    return version === 0 ? this.#zero : (this.#secrets.get(version) ?? null)
  }

  /** Every known key, newest first. Version 0 is the last. */
  get all(): readonly SealingKey[] {
    const { version: current } = this.#current
    const versioned = [...this.#secrets].map(([version, secret]) => ({ version, secret }))
    // A key that is not active yet opens values, but is not the first.
    const sorted = versioned.toSorted(
      (a, b) => Number(b.version <= current) - Number(a.version <= current) || b.version - a.version,
    )
    return [...sorted, { version: 0, secret: this.#zero }]
  }

  get rows(): readonly SealingKeyRow[] {
    return this.#rows
  }

  /** Reads the keys, and seals them again if an older secret of the data directory sealed them. */
  async refresh(): Promise<void> {
    const rows = await sealingKeys(this.#pool)
    const secrets = new Map<number, string>()
    for (const { version, sealed } of rows) {
      const { secret, isOld } = this.#unwrap(sealed)
      if (isOld) await resealKey(this.#pool, version, this.#wrap(secret))
      secrets.set(version, secret)
    }
    this.#secrets = secrets
    this.#rows = rows
    this.#readAtMs = performance.now()
  }

  /** Makes a key. @throws ApiError 409 if the newest key is not active yet */
  async rotate(on: Queryable): Promise<SealingKeyRow> {
    const version = Math.max(0, ...(await sealingKeys(on)).map((row) => row.version)) + 1
    const sealed = this.#wrap(randomBytes(32).toString('base64'))
    const [row] = await insertSealingKey(on, version, sealed, ACTIVE_AFTER_SECONDS)
    if (row === undefined) throw new ApiError('conflict', { detail: 'the newest key is not active yet' })
    return row
  }

  get #zero(): string {
    return this.#roots.at(-1) ?? ''
  }

  get #current(): SealingKey {
    const version = this.#rows.findLast((row) => row.is_active)?.version ?? 0
    return { version, secret: this.secretOf(version) ?? '' }
  }

  #wrap(secret: string): Buffer {
    return new Seal(onlyKey(this.#roots[0] ?? ''), 'keys').close(secret)
  }

  #unwrap(sealed: Buffer): { secret: string; isOld: boolean } {
    for (const [index, root] of this.#roots.entries()) {
      try {
        return { secret: new Seal(onlyKey(root), 'keys').open(sealed), isOld: index > 0 }
      } catch {
        // Another secret of the data directory sealed it.
      }
    }
    throw new Error('no secret of the data directory opens the sealing keys')
  }
}
