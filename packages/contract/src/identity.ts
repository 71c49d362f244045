import { z } from 'zod'
import { integer, oneRequired, optional, text } from './fields.ts'
import { permission, workspaceRole } from './role.ts'
import { scope } from './scope.ts'

/** A workspace in a list of the caller's workspaces. */
export const workspaceSummary = z.object({
  id: z.string(),
  slug: z.string(),
  name: z.string(),
  /** The caller's own role in the workspace. */
  role: workspaceRole,
  plan: z.string(),
})
export type WorkspaceSummary = z.infer<typeof workspaceSummary>

/** Answer of `GET /v1/me`. */
export const me = z.object({
  user: z.object({ id: z.string(), email: z.string(), name: z.string() }),
  /** The workspace of this request. */
  org: workspaceSummary,
  orgs: z.array(workspaceSummary),
  /** What the caller's role in `org` permits beyond what every member may do. A narrowed token also needs the scope. */
  permissions: z.array(permission),
  /** `*`: everything that the role in the workspace allows. A narrowed token has its own scopes here. */
  scopes: z.array(z.string()),
  auth_method: z.literal('jwt'),
})
export type Me = z.infer<typeof me>

/** Answer of `GET /v1/service`. */
export const service = z.object({
  /** Who may make an account: anybody, somebody with an open invitation, or nobody. */
  sign_up: z.enum(['open', 'invitation', 'closed']),
  /** OpenID Connect providers that can be used now, for `POST /api/auth/sign-in/social`. */
  sign_in_providers: z.array(z.object({ id: z.string(), name: z.string() })),
  /** How to reach the operator, if the settings say so. */
  support: z.string().nullable(),
  /** Whether plans can be bought: checkout and portal answer 503 otherwise. */
  has_payments: z.boolean(),
})
export type Service = z.infer<typeof service>

/** Body of `POST /v1/me/current-org`: one of the two fields. */
export const chooseOrgBody = z
  .object({ org_id: optional(text('org_id', 64)), slug: optional(text('slug', 64)) })
  .refine(({ org_id, slug }) => org_id !== undefined || slug !== undefined, 'org_id required')
  .meta(oneRequired('org_id', 'slug'))

/** Answer of `POST /v1/me/current-org`. */
export const chosenOrg = z.object({ org: workspaceSummary })
export type ChosenOrg = z.infer<typeof chosenOrg>

/** Seconds. */
const MAX_ACCESS_SECONDS = 3600
export const DEFAULT_ACCESS_SECONDS = 900

/** Body of `POST /v1/me/access-tokens`. */
export const accessTokenBody = z.object({
  /** The only workspace in which the token acts. Default: the one of this request. */
  org_id: optional(text('org_id', 64)),
  /** As for an API key. Default: all. */
  scopes: optional(
    z
      .array(scope, { error: 'scopes must be an array' })
      .min(1, 'scopes must not be empty')
      .max(32, 'scopes must have at most 32 entries'),
  ),
  /** 60 to 3600. Default: 900. The token ends with the caller's own at the latest. */
  expires_in_seconds: optional(integer('expires_in_seconds', 60, MAX_ACCESS_SECONDS)),
})

/** Answer of `POST /v1/me/access-tokens`. */
export const accessToken = z.object({
  token: z.string(),
  org_id: z.string(),
  /** `null`: all. */
  scopes: z.array(scope).nullable(),
  /** RFC 3339, UTC, milliseconds. */
  expires_at: z.string(),
})
export type AccessToken = z.infer<typeof accessToken>

/** Body of `DELETE /v1/me`. Without a password, the caller must have signed in within the last 5 minutes. */
export const deleteMeBody = z.object({ password: optional(text('password', 128)) })
