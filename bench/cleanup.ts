/**
 * Registry of everything that a bench must not leave behind: VMs, agents, servers. A bench releases its own. If it
 * fails or is stopped, the rest is released here.
 */
const held = new Set<() => Promise<unknown>>()

/** @returns a function that releases it; further calls have no effect */
export function hold(release: () => Promise<unknown>): () => Promise<void> {
  let released: Promise<unknown> | undefined
  const once = async () => {
    held.delete(once)
    await (released ??= release())
  }
  held.add(once)
  return once
}

/** In reverse order, because later objects may depend on earlier ones. */
export async function releaseAll(): Promise<void> {
  for (const release of [...held].toReversed()) {
    await release().catch((error: unknown) => console.error('not released:', error))
  }
}
