import type pg from 'pg'
import type { RowTask } from '../jobs/task.ts'
import type { MailCarrier } from './mail-carrier.ts'
import { dueMail, dueMails, removeMail } from './mail-statements.ts'
import type { Outbox } from './outbox.ts'

/** Sends the mails in the outbox. */
export function leavingMails(pool: pg.Pool, outbox: Outbox, carry: MailCarrier): RowTask {
  return {
    name: 'send-mail',
    due: (limit) => dueMails(pool, limit),
    async work({ id }) {
      const [mail] = await dueMail(pool, id)
      if (mail === undefined) return
      await carry(outbox.open(mail.sealed))
      await removeMail(pool, id)
    },
  }
}
