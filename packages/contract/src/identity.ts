import { z } from 'zod'
import { optional, text } from './fields.ts'
import { workspaceRole } from './role.ts'

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
  /** `*`: everything that the role in the workspace allows. */
  scopes: z.array(z.string()),
  auth_method: z.literal('jwt'),
})
export type Me = z.infer<typeof me>

/** Body of `POST /v1/me/current-org`: one of the two fields. */
export const chooseOrgBody = z
  .object({ org_id: optional(text('org_id', 64)), slug: optional(text('slug', 64)) })
  .refine(({ org_id, slug }) => org_id !== undefined || slug !== undefined, 'org_id required')

/** Answer of `POST /v1/me/current-org`. */
export const chosenOrg = z.object({ org: workspaceSummary })
export type ChosenOrg = z.infer<typeof chosenOrg>
