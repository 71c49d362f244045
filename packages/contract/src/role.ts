import { z } from 'zod'

/** Role of a member in a workspace. Each workspace has at least one owner. */
export const workspaceRole = z.enum(['owner', 'admin', 'member'])
export type WorkspaceRole = z.infer<typeof workspaceRole>

/** All roles. */
export const workspaceRoles: readonly WorkspaceRole[] = workspaceRole.options

/**
 * The permissions of each role. Operations that are not listed (sandboxes, templates and other compute) are open to all
 * members. A key has the permissions of the member who created it.
 */
const PERMITTED = {
  /** Read name, slug, plan and members. */
  'workspace:read': ['owner', 'admin', 'member'],
  /** Change name and slug. */
  'workspace:update': ['owner', 'admin'],
  /** Delete the workspace and everything in it. */
  'workspace:delete': ['owner'],
  /** Send, list and revoke invitations; remove members who are not owners. */
  'members:manage': ['owner', 'admin'],
  /** Assign and revoke the roles owner and admin; remove owners. */
  'members:promote': ['owner'],
  /** List and revoke other members' keys. */
  'tokens:manage': ['owner', 'admin'],
  /** Subscribe, change the plan, list payments. */
  'billing:manage': ['owner', 'admin'],
  /** Read the audit log. */
  'audit:read': ['owner', 'admin'],
} as const satisfies Record<string, readonly WorkspaceRole[]>

/** What a role can permit. */
export const permission = z.enum(Object.keys(PERMITTED) as (keyof typeof PERMITTED)[])
export type Permission = z.infer<typeof permission>

export const permissions: readonly Permission[] = permission.options

/** The roles that have a permission. */
export function rolesWith(permission: Permission): readonly WorkspaceRole[] {
  return PERMITTED[permission]
}

/** All that a role permits. */
export function permissionsOf(role: WorkspaceRole): Permission[] {
  return permissions.filter((each) => isPermitted(role, each))
}

export function isPermitted(role: WorkspaceRole, permission: Permission): boolean {
  return rolesWith(permission).includes(role)
}
