import type pg from 'pg'
import { apiKeyPrefix, matchesHash } from './api-key.ts'
import { type LiveKeyRow, liveKey } from './api-key-statements.ts'
import type { Caller } from '../../../platform/http/caller.ts'
import type { KeyUsage } from './key-usage.ts'

/** Milliseconds for which a key is taken at the database's last word: so long a revoked one may still pass, in any process. */
const TRUSTED_MS = 1000
/** Milliseconds after which a key in use is looked up again, beside the request it serves. */
const STALE_MS = 500
/** Keys kept; those looked up longest ago go first. */
const MAX_KEPT = 10_000

/** A key that holds, without its secret. */
type KnownKey = Extract<Caller, { method: 'key' }>

interface Kept {
  readonly row: LiveKeyRow
  readonly askedAtMs: number
}

/** API keys as the database last knew them: one in steady use costs its requests no round trip. */
export class KnownKeys {
  readonly #pool: pg.Pool
  readonly #usage: KeyUsage
  readonly #kept = new Map<string, Kept>()
  readonly #asking = new Map<string, Promise<LiveKeyRow | null>>()

  constructor(pool: pg.Pool, usage: KeyUsage) {
    this.#pool = pool
    this.#usage = usage
  }

  /** `null` for what is no live key: malformed, unknown, expired or revoked. */
  async find(token: string): Promise<KnownKey | null> {
    const prefix = apiKeyPrefix(token)
    const row = prefix === null ? null : await this.#row(prefix)
    if (prefix === null || row === null || !matchesHash(token, row.hash)) return null
    this.#usage.note(prefix, row.last_used_at)
    const { workspace_id: workspaceId, scopes, role, is_suspended: isSuspended } = row
    return { method: 'key', prefix, workspaceId, scopes, role, isSuspended }
  }

  /** Whether this was a live key when it was last looked up, without looking it up. */
  hasSeen(token: string): boolean {
    const kept = this.#kept.get(apiKeyPrefix(token) ?? '')
    return kept !== undefined && matchesHash(token, kept.row.hash)
  }

  /** Asks the database again next time. */
  forget(prefix: string): void {
    this.#kept.delete(prefix)
  }

  async #row(prefix: string): Promise<LiveKeyRow | null> {
    const kept = this.#kept.get(prefix)
    const ageMs = kept === undefined ? Number.POSITIVE_INFINITY : performance.now() - kept.askedAtMs
    if (kept === undefined || ageMs >= TRUSTED_MS) return this.#ask(prefix)
    // Should it fail, the request that finds the key too old is told.
    if (ageMs >= STALE_MS) this.#ask(prefix).catch(() => undefined)
    return kept.row
  }

  /** One question at a time for each key. */
  #ask(prefix: string): Promise<LiveKeyRow | null> {
    const asking = this.#asking.get(prefix)
    if (asking !== undefined) return asking
    const asked = this.#askDatabase(prefix).finally(() => this.#asking.delete(prefix))
    this.#asking.set(prefix, asked)
    return asked
  }

  async #askDatabase(prefix: string): Promise<LiveKeyRow | null> {
    const askedAtMs = performance.now()
    const [row] = await liveKey(this.#pool, prefix)
    this.#kept.delete(prefix)
    if (row === undefined) return null
    this.#kept.set(prefix, { row, askedAtMs })
    if (this.#kept.size > MAX_KEPT) this.#kept.delete(this.#kept.keys().next().value ?? prefix)
    return row
  }
}
