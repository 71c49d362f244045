import { z } from 'zod'
import type { Permission } from './role.ts'
import type { Scope } from './scope.ts'

/**
 * What a message of `GET /v1/changes` can be about. `id` is that of the API's paths: the name of a template or a volume,
 * the domain, the prefix of a key, the user's id of a member, and the id of everything else.
 */
export const changeKind = z.enum([
  'sandbox',
  'snapshot',
  'template',
  'build',
  'volume',
  'volume_snapshot',
  'database',
  'backup',
  'app',
  'deployment',
  'domain',
  'webhook',
  'webhook_delivery',
  'key',
  'ssh_key',
  'member',
  'invitation',
  'workspace',
])
export type ChangeKind = z.infer<typeof changeKind>

/** An object of the workspace was made, changed or deleted. */
export const change = z.object({ kind: changeKind, id: z.string() })
export type Change = z.infer<typeof change>

/** The users who may read objects of a kind that no key may read: their owner, and members with a permission. */
interface UsersWho {
  readonly owner?: true
  readonly permission?: Permission
}

/** The scope that a key needs to read objects of a kind. Or the users who may read them, if their token is not narrowed. */
export const READERS_OF: Readonly<Record<ChangeKind, Scope | UsersWho>> = {
  sandbox: 'sandboxes:read',
  snapshot: 'sandboxes:read',
  template: 'templates:read',
  build: 'templates:read',
  volume: 'volumes:read',
  volume_snapshot: 'volumes:read',
  database: 'databases:read',
  backup: 'databases:read',
  app: 'apps:read',
  deployment: 'apps:read',
  domain: 'apps:read',
  webhook: 'webhooks:read',
  webhook_delivery: 'webhooks:read',
  key: { owner: true, permission: 'tokens:manage' },
  ssh_key: { owner: true },
  member: { permission: 'workspace:read' },
  invitation: { permission: 'members:manage' },
  workspace: { permission: 'workspace:read' },
}
