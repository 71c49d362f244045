import { type Kysely, sql } from 'kysely'

/**
 * Accounts, workspaces and signing keys, in the schema that better-auth 1.7 requires for its core and its organization,
 * bearer and jwt plugins. The camel-case names are part of that schema. A workspace is an "organization".
 */
const STATEMENTS = [
  `create table "user" (
    "id" uuid default gen_random_uuid() not null primary key,
    "name" text not null,
    "email" text not null unique,
    "emailVerified" boolean not null,
    "image" text,
    "createdAt" timestamptz default current_timestamp not null,
    "updatedAt" timestamptz default current_timestamp not null
  )`,
  `create table "session" (
    "id" uuid default gen_random_uuid() not null primary key,
    "expiresAt" timestamptz not null,
    "token" text not null unique,
    "createdAt" timestamptz default current_timestamp not null,
    "updatedAt" timestamptz not null,
    "ipAddress" text,
    "userAgent" text,
    "userId" uuid not null references "user" ("id") on delete cascade,
    "activeOrganizationId" text
  )`,
  `create index "session_userId_idx" on "session" ("userId")`,
  `create table "account" (
    "id" uuid default gen_random_uuid() not null primary key,
    "issuer" text not null,
    "accountId" text not null,
    "providerId" text not null,
    "userId" uuid not null references "user" ("id") on delete cascade,
    "accessToken" text,
    "refreshToken" text,
    "idToken" text,
    "accessTokenExpiresAt" timestamptz,
    "refreshTokenExpiresAt" timestamptz,
    "scope" text,
    "password" text,
    "createdAt" timestamptz default current_timestamp not null,
    "updatedAt" timestamptz not null
  )`,
  `create index "account_userId_idx" on "account" ("userId")`,
  `create unique index "account_issuer_accountId_uidx" on "account" ("issuer", "accountId")`,
  `create table "verification" (
    "id" uuid default gen_random_uuid() not null primary key,
    "identifier" text not null,
    "value" text not null,
    "expiresAt" timestamptz not null,
    "createdAt" timestamptz default current_timestamp not null,
    "updatedAt" timestamptz default current_timestamp not null
  )`,
  `create index "verification_identifier_idx" on "verification" ("identifier")`,
  `create table "organization" (
    "id" uuid default gen_random_uuid() not null primary key,
    "name" text not null,
    "slug" text not null unique,
    "logo" text,
    "createdAt" timestamptz not null,
    "metadata" text
  )`,
  `create table "member" (
    "id" uuid default gen_random_uuid() not null primary key,
    "organizationId" uuid not null references "organization" ("id") on delete cascade,
    "userId" uuid not null references "user" ("id") on delete cascade,
    "role" text not null,
    "createdAt" timestamptz not null
  )`,
  `create index "member_organizationId_idx" on "member" ("organizationId")`,
  `create index "member_userId_idx" on "member" ("userId")`,
  `create table "invitation" (
    "id" uuid default gen_random_uuid() not null primary key,
    "organizationId" uuid not null references "organization" ("id") on delete cascade,
    "email" text not null,
    "role" text,
    "status" text not null,
    "expiresAt" timestamptz not null,
    "createdAt" timestamptz default current_timestamp not null,
    "inviterId" uuid not null references "user" ("id") on delete cascade
  )`,
  `create index "invitation_organizationId_idx" on "invitation" ("organizationId")`,
  `create index "invitation_email_idx" on "invitation" ("email")`,
  `create table "jwks" (
    "id" uuid default gen_random_uuid() not null primary key,
    "publicKey" text not null,
    "privateKey" text not null,
    "createdAt" timestamptz not null,
    "expiresAt" timestamptz,
    "alg" text,
    "crv" text
  )`,
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
}
