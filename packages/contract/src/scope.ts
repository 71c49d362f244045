import { z } from 'zod'

/** The resources that scopes name. `write` does not include `read`. */
const RESOURCES = ['sandboxes', 'templates', 'volumes', 'databases', 'apps', 'billing', 'audit', 'webhooks'] as const
type Resource = (typeof RESOURCES)[number]

/** Resource by the first path segment after `/v1/`. */
const RESOURCE_OF: Readonly<Record<string, Resource>> = {
  sandboxes: 'sandboxes',
  snapshots: 'sandboxes',
  events: 'sandboxes',
  lsp: 'sandboxes',
  templates: 'templates',
  builds: 'templates',
  volumes: 'volumes',
  databases: 'databases',
  apps: 'apps',
  gitprovider: 'apps',
  github: 'apps',
  billing: 'billing',
  usage: 'billing',
  statements: 'billing',
  audit: 'audit',
  webhooks: 'webhooks',
}

/** `<resource>:read` or `<resource>:write`. */
export type Scope = `${Resource}:${'read' | 'write'}`

const SCOPES = RESOURCES.flatMap((resource): Scope[] => [`${resource}:read`, `${resource}:write`])

/** A scope of a key, e.g. `sandboxes:read`. A key without scopes may do everything. */
export const scope = z.enum(SCOPES, { error: `scopes must be among ${SCOPES.join(', ')}` })

/**
 * The scope that a route needs, from its path and method: GET needs `read`. `null` if no scope covers the path; then
 * keys with scopes have no access.
 */
export function scopeOf(method: string, url: string): Scope | null {
  const resource = RESOURCE_OF[/^\/v1\/([^/]+)/.exec(url)?.[1] ?? '']
  if (resource === undefined) return null
  return `${resource}:${method === 'GET' || method === 'HEAD' ? 'read' : 'write'}`
}

/** Scopes of operations that a suspended workspace cannot start. */
const COMPUTE: ReadonlySet<Scope | null> = new Set([
  'sandboxes:write',
  'templates:write',
  'volumes:write',
  'databases:write',
  'apps:write',
])

/** Whether an operation starts or changes compute. Deletions are always allowed. */
export function isCompute(scope: Scope | null, method: string): boolean {
  return COMPUTE.has(scope) && method !== 'DELETE'
}
