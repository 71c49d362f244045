import { statement } from '../../../platform/db/statement.ts'

/** The `account.providerId` of users of external issuers. */
const PROVIDER = 'jwt'

export const userOfAccount = statement<{ user_id: string }, [issuer: string, subject: string]>(
  'user-of-account',
  `select "userId" as user_id from account where issuer = $1 and "accountId" = $2 and "providerId" = '${PROVIDER}'`,
)

/** Holds the lock until the transaction ends. */
export const lockSubject = statement<never, [subject: string]>(
  'lock-subject',
  'select pg_advisory_xact_lock(hashtextextended($1, 0))',
)

/** Returns no row if the address is taken. */
export const insertUser = statement<{ id: string }, [name: string, email: string, isVerified: boolean]>(
  'insert-foreign-user',
  `insert into "user" (name, email, "emailVerified") values ($1, $2, $3) on conflict (email) do nothing returning id`,
)

export const verifiedUser = statement<{ id: string }, [email: string]>(
  'verified-user',
  'select id from "user" where email = $1 and "emailVerified"',
)

export const insertAccount = statement<never, [issuer: string, subject: string, userId: string]>(
  'insert-foreign-account',
  `insert into account (issuer, "accountId", "providerId", "userId", "updatedAt")
   values ($1, $2, '${PROVIDER}', $3, now())`,
)
