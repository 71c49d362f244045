import { statement } from '../db/statement.ts'

export interface MailRow {
  readonly id: string
  readonly sealed: Buffer
}

export const insertMail = statement<MailRow, [sealed: Buffer]>(
  'insert-mail',
  'insert into mails (sealed) values ($1) returning id, sealed',
)

/** Days for which an undeliverable mail is retried. */
const MAX_AGE_DAYS = 2

/** Claims due mails for `leaseSeconds`, oldest first. */
export const claimMails = statement<MailRow, [limit: number, leaseSeconds: number]>(
  'claim-mails',
  `with due as materialized (
     select id as due_id from mails where due_at <= now() order by due_at limit $1 for update skip locked
   )
   update mails set due_at = now() + make_interval(secs => $2) from due where id = due_id returning id, sealed`,
)

/** Exponential backoff: the wait grows with the mail's age, so that a server that is down gets few attempts. */
export const retryMail = statement<never, [id: string, afterSeconds: number]>(
  'retry-mail',
  `update mails set due_at = now() + greatest(make_interval(secs => $2), (now() - created_at) / 2) where id = $1`,
)

export const removeMail = statement<never, [id: string]>('remove-mail', 'delete from mails where id = $1')

export const removeUnsendable = statement<{ id: string }, []>(
  'remove-unsendable',
  `delete from mails where created_at < now() - interval '${MAX_AGE_DAYS} days' returning id`,
)
