import { type Kysely, sql } from 'kysely'

/**
 * What better-auth 1.7.6 and its plugins for second factors and passkeys require. The camel-case names are part of their
 * schema.
 */
const STATEMENTS = [
  // better-auth 1.7.3 identifies an account by provider and subject again, and no longer writes an issuer. Only the
  // accounts of external token issuers ("providerId" = 'jwt') have one.
  'alter table account alter column issuer drop not null',
  `create unique index "account_providerId_accountId_uidx" on account ("providerId", "accountId")
   where "providerId" <> 'jwt'`,
  // tokens_valid_from: a password reset ends the tokens that were signed before and belong to no session.
  `alter table "user"
     add column "twoFactorEnabled" boolean not null default false,
     add column tokens_valid_from timestamptz(3)`,
  // secret and backupCodes are sealed by the accounts library.
  `create table "twoFactor" (
    "id" uuid default gen_random_uuid() not null primary key,
    "secret" text not null,
    "backupCodes" text not null,
    "userId" uuid not null unique references "user" ("id") on delete cascade,
    "verified" boolean not null default true,
    "failedVerificationCount" integer not null default 0,
    "lockedUntil" timestamptz
  )`,
  `create table "passkey" (
    "id" uuid default gen_random_uuid() not null primary key,
    "name" text,
    "publicKey" text not null,
    "userId" uuid not null references "user" ("id") on delete cascade,
    "credentialID" text not null unique,
    "counter" bigint not null,
    "deviceType" text not null,
    "backedUp" boolean not null,
    "transports" text,
    "createdAt" timestamptz,
    "aaguid" text
  )`,
  `create index "passkey_userId_idx" on "passkey" ("userId")`,
  // A deleted account is forgotten in the audit log.
  `create index audit_log_actor_idx on audit_log (actor_id) where actor_type = 'user'`,
  'create index audit_log_target_idx on audit_log (target)',
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
}
