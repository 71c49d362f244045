import type { Queryable } from '../db/statement.ts'
import type { Seal } from '../secrets/seal.ts'
import type { Mail } from './mail.ts'
import { insertMail } from './mail-statements.ts'

/**
 * Outgoing mails, stored in the database and sealed because they contain tokens.
 *
 * A mail added inside a transaction is sent if, and only if, the transaction commits. It is sent at least once, and
 * twice only if a process dies between the server's confirmation and the deletion of the row.
 */
export class Outbox {
  readonly #seal: Seal

  constructor(seal: Seal) {
    this.#seal = seal
  }

  async put(on: Queryable, mail: Mail): Promise<void> {
    await insertMail(on, this.#seal.close(JSON.stringify(mail)))
  }

  open(sealed: Buffer): Mail {
    return JSON.parse(this.#seal.open(sealed)) as Mail
  }
}
