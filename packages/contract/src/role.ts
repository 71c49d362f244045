import { z } from 'zod'

/** Of a member in a workspace. Each workspace has at least one owner. */
export const workspaceRole = z.enum(['owner', 'admin', 'member'])
export type WorkspaceRole = z.infer<typeof workspaceRole>

/** Role that an invitation or a change may give. */
export const workspaceRoles: readonly WorkspaceRole[] = workspaceRole.options

/**
 * Who may do what in a workspace. What is not here (sandboxes, templates, and all else that computes) every member may do.
 * A key may do what the member who made it may.
 */
const PERMITTED = {
  /** See name, slug, plan and members. */
  'workspace:read': ['owner', 'admin', 'member'],
  /** Change name and slug. */
  'workspace:update': ['owner', 'admin'],
  /** End everything inside, then the workspace. */
  'workspace:delete': ['owner'],
  /** Invite, see and take back invitations, remove members who are no owners. */
  'members:manage': ['owner', 'admin'],
  /** Make owners and admins, take it back, remove owners. */
  'members:promote': ['owner'],
  /** See and revoke the keys that others have made. */
  'tokens:manage': ['owner', 'admin'],
  /** Subscribe, change the plan, see what was paid. */
  'billing:manage': ['owner', 'admin'],
  /** Read who did what. */
  'audit:read': ['owner', 'admin'],
} as const satisfies Record<string, readonly WorkspaceRole[]>

export type Permission = keyof typeof PERMITTED

export const permissions = Object.keys(PERMITTED) as readonly Permission[]

export function rolesWith(permission: Permission): readonly WorkspaceRole[] {
  return PERMITTED[permission]
}

export function isPermitted(role: WorkspaceRole, permission: Permission): boolean {
  return rolesWith(permission).includes(role)
}
