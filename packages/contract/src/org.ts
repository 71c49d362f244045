import { z } from 'zod'
import { optional, requiredText, text } from './fields.ts'
import { workspaceSummary } from './identity.ts'
import { workspaceRole } from './role.ts'
import { createdQuery, once, pageQuery } from './page.ts'
import { queryOneOf } from './query-fields.ts'

const MAX_NAME_CHARS = 100
/** Days until an invitation expires. */
export const INVITATION_DAYS = 7

/** A host name label of 3 to 40 characters. */
const SLUG = /^[a-z0-9](?:[a-z0-9]|-(?!-)){1,38}[a-z0-9]$/

/** Words that the service uses, or may use, where a slug could stand. */
const RESERVED = new Set(
  `about account accounts admin administrator api app apps assets auth billing blog builds cdn control current
   dashboard database databases docs events github gitprovider health healthz help host internal invite invites
   legal localhost login logout mail members metrics new none null offshoot openapi operator org orgs owner
   personal pricing privacy root sandbox sandboxes security settings signin signup snapshots static status
   support system team templates terms tokens undefined usage user users version volumes webhooks www`.split(/\s+/),
)
/** Prefix of the slugs of personal workspaces. */
export const PERSONAL_SLUG_PREFIX = 'personal-'

/** Whether a user may choose the slug. Prefixes of personal workspaces and reserved words are refused. */
export function isSlug(slug: string): boolean {
  return SLUG.test(slug) && !RESERVED.has(slug) && !slug.startsWith(PERSONAL_SLUG_PREFIX) && !/^[0-9-]+$/.test(slug)
}

/** The error for a slug that a user may not choose. */
export const SLUG_RULE =
  'slug must be 3 to 40 of a-z, 0-9 and single hyphens between them, not all digits, and no reserved word'

/** A name must stay on one line in mails and logs. */
const isOneLine = (value: string) => !/\p{Cc}/u.test(value) && value.isWellFormed()
const ONE_LINE = 'name must not contain control characters or half a surrogate pair'

/** Body of `POST /v1/orgs`. */
export const createOrgBody = z.object({
  name: requiredText('name', MAX_NAME_CHARS)
    .refine((name) => name.trim() !== '', 'name is required')
    .refine(isOneLine, ONE_LINE),
  /** Part of addresses. Derived from the name if absent. */
  slug: optional(text('slug', 64).refine(isSlug, SLUG_RULE)),
})
export type CreateOrgBody = z.output<typeof createOrgBody>

/** Body of `PATCH /v1/orgs/{id}`. */
export const changeOrgBody = z.object({
  name: optional(
    text('name', MAX_NAME_CHARS)
      .refine((name) => name.trim() !== '', 'name is required')
      .refine(isOneLine, ONE_LINE),
  ),
  /** As for a new workspace, or the slug that the workspace has. */
  slug: optional(text('slug', 64)),
})

/** A workspace read by its id, with fields that a list omits. */
export const org = workspaceSummary.extend({
  /** RFC 3339, UTC, milliseconds. */
  created_at: z.string(),
  /** Number of members. */
  members: z.int(),
  /** An operator has suspended the workspace's compute. */
  suspended: z.boolean(),
})
export type Org = z.infer<typeof org>

/** A member of a workspace. */
export const member = z.object({
  user_id: z.string(),
  email: z.string(),
  name: z.string(),
  role: workspaceRole,
  /** RFC 3339, UTC, milliseconds. */
  joined_at: z.string(),
})
export type Member = z.infer<typeof member>

/**
 * The address format of user accounts: one `@`, and no space, bracket, comma or quote. Thus it is one recipient, and
 * cannot inject a mail header.
 */
const ADDRESS =
  /^[^\s\p{Cc}<>()[\]\\,;:"@]{1,64}@[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*$/iu

/** Body of `POST /v1/orgs/{id}/members`. */
export const inviteBody = z.object({
  email: requiredText('email', 254)
    .refine((email) => ADDRESS.test(email), 'email must be an e-mail address')
    .transform((email) => email.toLowerCase()),
  /** Default `member`. Only an existing member can become an owner. */
  role: optional(z.enum(['admin', 'member'], { error: 'role must be admin or member' })),
})

/** Body of `PATCH /v1/orgs/{id}/members/{user_id}`. */
export const changeMemberBody = z.object({
  role: z.enum(workspaceRole.options, { error: 'role must be owner, admin or member' }),
})

/** A pending invitation. Its secret is in the mail only. */
export const invitation = z.object({
  id: z.string(),
  email: z.string(),
  role: z.enum(['admin', 'member']),
  /** RFC 3339, UTC, milliseconds. */
  created_at: z.string(),
  expires_at: z.string(),
})
export type Invitation = z.infer<typeof invitation>

/** Query of `GET /v1/orgs`. */
export const orgListQuery = pageQuery.extend({
  name: once('name').optional(),
  slug: once('slug').optional(),
  role: queryOneOf('role', workspaceRole.options),
})

/** Query of `GET /v1/orgs/{id}/members`. */
export const memberListQuery = pageQuery.extend({
  email: once('email').optional(),
  role: queryOneOf('role', workspaceRole.options),
})

/** Query of `GET /v1/orgs/{id}/invites`. */
export const invitationListQuery = createdQuery.extend({
  email: once('email').optional(),
  role: queryOneOf('role', invitation.shape.role.options),
})
