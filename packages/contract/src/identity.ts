import { z } from 'zod'

export const workspaceRole = z.enum(['owner', 'admin', 'member'])
export type WorkspaceRole = z.infer<typeof workspaceRole>

export const workspaceSummary = z.object({
  id: z.string(),
  slug: z.string(),
  name: z.string(),
  /** The caller's own role in it. */
  role: workspaceRole,
  plan: z.string(),
})
export type WorkspaceSummary = z.infer<typeof workspaceSummary>

/** Answer of `GET /v1/me`. */
export const me = z.object({
  user: z.object({ id: z.string(), email: z.string(), name: z.string() }),
  /** The workspace this request acted in. */
  org: workspaceSummary,
  orgs: z.array(workspaceSummary),
  /** `*`: everything the role in the workspace allows. */
  scopes: z.array(z.string()),
  auth_method: z.literal('jwt'),
})
export type Me = z.infer<typeof me>
