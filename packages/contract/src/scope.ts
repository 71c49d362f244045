import { z } from 'zod'

/** What a key may be limited to. `write` holds no `read`. */
const RESOURCES = ['sandboxes', 'templates', 'volumes', 'databases', 'apps', 'billing', 'audit'] as const
type Resource = (typeof RESOURCES)[number]

/** Resource by the first word of the path after `/v1/`. */
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
}

export type Scope = `${Resource}:${'read' | 'write'}`

const SCOPES = RESOURCES.flatMap((resource): Scope[] => [`${resource}:read`, `${resource}:write`])

/** A scope of a key, e.g. `sandboxes:read`; a key without any has all. */
export const scope = z.enum(SCOPES, { error: `scopes must be among ${SCOPES.join(', ')}` })

/**
 * The scope that a route needs: by its path, and by its method, because what reads is a GET.
 * `null` for a path that no scope covers: a key with scopes never opens it.
 */
export function scopeOf(method: string, url: string): Scope | null {
  const resource = RESOURCE_OF[/^\/v1\/([^/]+)/.exec(url)?.[1] ?? '']
  if (resource === undefined) return null
  return `${resource}:${method === 'GET' || method === 'HEAD' ? 'read' : 'write'}`
}

/** Scopes of operations that a suspended workspace may not start. */
const COMPUTE: ReadonlySet<Scope | null> = new Set([
  'sandboxes:write',
  'templates:write',
  'volumes:write',
  'databases:write',
  'apps:write',
])

/** Whether an operation starts or changes something that computes. Ending it is always allowed. */
export function isCompute(scope: Scope | null, method: string): boolean {
  return COMPUTE.has(scope) && method !== 'DELETE'
}
