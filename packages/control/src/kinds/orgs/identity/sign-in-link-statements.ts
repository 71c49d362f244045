import { statement } from '../../../platform/db/statement.ts'

/** Replaces the user's link. */
export const putSignInLink = statement<never, [userId: string, tokenSha256: Buffer, seconds: number]>(
  'put-sign-in-link',
  `insert into sign_in_links as l (user_id, token_sha256, expires_at)
   values ($1, $2, now() + $3 * interval '1 second')
   on conflict (user_id) do update set token_sha256 = excluded.token_sha256, expires_at = excluded.expires_at`,
)

/** Removes a link, so that of concurrent uses only one gets the row. No row: it is unknown or was used. */
export const takeSignInLink = statement<{ user_id: string; is_valid: boolean }, [tokenSha256: Buffer]>(
  'take-sign-in-link',
  `delete from sign_in_links where token_sha256 = $1 returning user_id, expires_at > now() as is_valid`,
)
