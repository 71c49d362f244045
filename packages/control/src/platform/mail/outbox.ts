import type { Queryable } from '../db/statement.ts'
import type { Seal } from '../seal.ts'
import type { Mail } from './mail.ts'
import { insertMail } from './mail-statements.ts'

/**
 * Mails that are to leave, kept in the database and sealed, because they carry tokens. One that is put in inside a transaction
 * leaves if, and only if, that transaction commits; at least once, and hardly ever twice (when a process dies between a
 * server's word and the deletion of the row).
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
