import type pg from 'pg'
import { apiKeyPrefix, matchesHash } from './api-key.ts'
import { type LiveKeyRow, liveKey } from './api-key-statements.ts'
import type { Caller } from '../../../platform/http/caller.ts'
import type { KeyUsage } from './key-usage.ts'

/** Milliseconds for which a cached key is accepted. A revoked key may pass that long in any process. */
const TRUSTED_MS = 1000
/** Milliseconds after which a key in use is looked up again, in the background of the request. */
const STALE_MS = 500
/** Cached keys. Beyond that, those with the oldest lookup are dropped. */
const MAX_KEPT = 10_000

/** A valid key, without its secret. */
type KnownKey = Extract<Caller, { method: 'key' }>

interface Kept {
  readonly row: LiveKeyRow
  readonly askedAtMs: number
}

/** Caches API keys, so that requests with a busy key need no round trip to the database. */
export class ApiKeyCache {
  readonly #pool: pg.Pool
  readonly #usage: KeyUsage
  readonly #kept = new Map<string, Kept>()
  readonly #asking = new Map<string, Promise<LiveKeyRow | null>>()

  constructor(pool: pg.Pool, usage: KeyUsage) {
    this.#pool = pool
    this.#usage = usage
  }

  /** `null` if there is no such valid key: malformed, unknown, expired or revoked. */
  async find(token: string): Promise<KnownKey | null> {
    const prefix = apiKeyPrefix(token)
    const row = prefix === null ? null : await this.#row(prefix)
    if (prefix === null || row === null || !matchesHash(token, row.hash)) return null
    this.#usage.note(prefix, row.last_used_at)
    const { workspace_id: workspaceId, scopes, role, is_suspended: isSuspended } = row
    return { method: 'key', prefix, workspaceId, scopes, role, isSuspended }
  }

  /** Whether the key was valid at its last lookup. Does not ask the database. */
  hasSeen(token: string): boolean {
    const kept = this.#kept.get(apiKeyPrefix(token) ?? '')
    return kept !== undefined && matchesHash(token, kept.row.hash)
  }

  /** Makes the next lookup ask the database again. */
  forget(prefix: string): void {
    this.#kept.delete(prefix)
  }

  async #row(prefix: string): Promise<LiveKeyRow | null> {
    const kept = this.#kept.get(prefix)
    const ageMs = kept === undefined ? Number.POSITIVE_INFINITY : performance.now() - kept.askedAtMs
    if (kept === undefined || ageMs >= TRUSTED_MS) return this.#ask(prefix)
    // If the lookup fails, the next request that finds the key too old reports the error.
    if (ageMs >= STALE_MS) this.#ask(prefix).catch(() => undefined)
    return kept.row
  }

  /** Only one lookup at a time per key. */
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
