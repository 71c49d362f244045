import type pg from 'pg'
import type { Logger } from 'pino'
import { transaction } from '../../../platform/db/transaction.ts'
import type { AdmittedOperator } from '../../../platform/http/caller.ts'
import { matchesHash, mintApiKey } from './api-key.ts'
import {
  BOOTSTRAP,
  insertBootstrapOperator,
  liveOperatorKey,
  noteOperatorKeyUse,
  restoreOperator,
  setBootstrapKey,
} from './operator-statements.ts'

/** `ofs_op_`, 8 public characters, `_`, then 32 secret characters. The key in the configuration may have any form. */
const OPERATOR_KEY = /^(ofs_op_[0-9A-Za-z]{8})_[0-9A-Za-z]{32}$/
/** Keys remembered as valid. Beyond that, the oldest are dropped. */
const MAX_SEEN = 1000

export const mintOperatorKey = () => mintApiKey('ofs_op')

/**
 * The keys of operators. Operators make few requests, so each one asks the database, and a revoked key ends at once.
 */
export class OperatorKeys {
  readonly #pool: pg.Pool
  readonly #log: Logger
  readonly #isOpen: boolean
  readonly #seen = new Map<string, Buffer>()

  private constructor(pool: pg.Pool, isOpen: boolean, log: Logger) {
    this.#pool = pool
    this.#isOpen = isOpen
    this.#log = log
  }

  /**
   * Makes the bootstrap operator with its key. A key that is not the one of the last start makes that operator an owner
   * again, even if it was removed: those who can change the configuration can do everything.
   *
   * @param sha256 of the bootstrap operator's key, in hex; without it no key is valid
   */
  static async open(pool: pg.Pool, sha256: string | undefined, log: Logger): Promise<OperatorKeys> {
    if (sha256 !== undefined) {
      await transaction(pool, async (client) => {
        await insertBootstrapOperator(client)
        const [changed] = await setBootstrapKey(client, Buffer.from(sha256, 'hex'))
        if (changed !== undefined) await restoreOperator(client, changed.operator_id)
      })
    }
    return new OperatorKeys(pool, sha256 !== undefined, log)
  }

  /** `null` if there is no such valid key: unknown, expired or revoked. */
  async find(token: string): Promise<AdmittedOperator | null> {
    if (!this.#isOpen) return null
    const prefix = prefixOf(token)
    const [row] = await liveOperatorKey(this.#pool, prefix)
    if (row === undefined || !matchesHash(token, row.hash)) return null
    this.#remember(prefix, row.hash)
    if (!row.is_noted) {
      await noteOperatorKeyUse(this.#pool, prefix).catch((error: unknown) => {
        this.#log.warn({ err: error }, 'last_used_at of an operator key not written')
      })
    }
    return { id: row.id, role: row.role }
  }

  /** Whether the key was valid at its last lookup. Does not ask the database. */
  hasSeen(token: string): boolean {
    const hash = this.#seen.get(prefixOf(token))
    return hash !== undefined && matchesHash(token, hash)
  }

  #remember(prefix: string, hash: Buffer): void {
    this.#seen.delete(prefix)
    this.#seen.set(prefix, hash)
    if (this.#seen.size > MAX_SEEN) this.#seen.delete(this.#seen.keys().next().value ?? prefix)
  }
}

function prefixOf(token: string): string {
  return OPERATOR_KEY.exec(token)?.[1] ?? BOOTSTRAP
}
