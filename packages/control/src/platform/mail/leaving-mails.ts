import type pg from 'pg'
import { LEASE_SECONDS, type Reaping } from '../jobs/reaper.ts'
import type { MailCarrier } from './mail-carrier.ts'
import { claimMails, type MailRow, removeMail, retryMail } from './mail-statements.ts'
import type { Outbox } from './outbox.ts'

/** Sends the mails in the outbox. Each mail is claimed by one process. */
export function leavingMails(pool: pg.Pool, outbox: Outbox, carry: MailCarrier): Reaping<MailRow> {
  return {
    what: 'mail',
    everyMs: 1_000,
    claim: (limit) => claimMails(pool, limit, LEASE_SECONDS),
    remove: async ({ id, sealed }) => {
      await carry(outbox.open(sealed))
      await removeMail(pool, id)
    },
    retry: (id, afterSeconds) => retryMail(pool, id, afterSeconds),
  }
}
