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

export const dueMails = statement<{ id: string }, [limit: number]>(
  'due-mails',
  'select id from mails where due_at <= now() order by due_at limit $1',
)

export const dueMail = statement<MailRow, [id: string]>(
  'due-mail',
  'select id, sealed from mails where id = $1 and due_at <= now()',
)

export const removeMail = statement<never, [id: string]>('remove-mail', 'delete from mails where id = $1')

export const removeUnsendable = statement<{ id: string }, []>(
  'remove-unsendable',
  `delete from mails where created_at < now() - interval '${MAX_AGE_DAYS} days' returning id`,
)
