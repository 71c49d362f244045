import type { SandboxInfo } from '@offshoot/sdk'

/** The list, newest first, with entries replaced, added, or (`info: null`) removed. */
export function merge(
  list: readonly SandboxInfo[],
  changed: readonly { readonly id: string; readonly info: SandboxInfo | null }[],
): readonly SandboxInfo[] {
  const byId = new Map(list.map((info) => [info.id, info]))
  for (const { id, info } of changed) {
    if (info === null) byId.delete(id)
    else byId.set(id, info)
  }
  return [...byId.values()].toSorted((a, b) => (a.createdAt < b.createdAt ? 1 : a.createdAt > b.createdAt ? -1 : 0))
}
