import type { Key } from '@offshoot/sdk'

export type Scope = NonNullable<Key['scopes']>[number]

/** What a scope gives access to, in the order of the form. */
export const RESOURCES = [
  'sandboxes',
  'templates',
  'volumes',
  'databases',
  'apps',
  'webhooks',
  'billing',
  'audit',
] as const satisfies readonly (Scope extends `${infer Resource}:${string}` ? Resource : never)[]

/** Resources whose scopes only read. */
const READ_ONLY: ReadonlySet<string> = new Set(['audit'])

export const ACCESSES = ['read', 'write'] as const

export function isScope(resource: (typeof RESOURCES)[number], access: (typeof ACCESSES)[number]): boolean {
  return access === 'read' || !READ_ONLY.has(resource)
}

/** E.g. `sandboxes, apps (read)`: what a key opens, in few words. */
export function describeScopes(scopes: readonly Scope[] | null): string {
  if (scopes === null) return 'everything'
  const accesses = new Map<string, string[]>()
  for (const scope of scopes) {
    const [resource = '', access = ''] = scope.split(':')
    accesses.set(resource, [...(accesses.get(resource) ?? []), access])
  }
  return [...accesses]
    .map(([resource, found]) => (found.length === ACCESSES.length ? resource : `${resource} (${found.join()})`))
    .join(', ')
}
