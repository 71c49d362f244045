import { statement } from '../../../platform/db/statement.ts'

/** Records that a TOTP code opens a sign-in. No row: it has already opened one in the last minutes. */
export const claimCode = statement<{ code: string }, [userId: string, code: string]>(
  'claim-code',
  `insert into used_totp_codes as u (user_id, code) values ($1, $2)
   on conflict (user_id, code) do update set used_at = now() where u.used_at < now() - interval '5 minutes'
   returning code`,
)

/** A code is valid for a minute and a half. */
export const removeOldCodes = statement<never, []>(
  'remove-old-codes',
  `delete from used_totp_codes where used_at < now() - interval '5 minutes'`,
)
