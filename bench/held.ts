/**
 * What a bench has started and must not outlive it: VMs, agents, servers. A bench releases its own; those of one that fails or
 * is stopped half-way are released here.
 */
const held = new Set<() => Promise<unknown>>()

/** @returns a function that releases it, once however often it is called */
export function hold(release: () => Promise<unknown>): () => Promise<void> {
  let released: Promise<unknown> | undefined
  const once = async () => {
    held.delete(once)
    await (released ??= release())
  }
  held.add(once)
  return once
}

/** The newest first: it may need those before it. */
export async function releaseAll(): Promise<void> {
  for (const release of [...held].toReversed()) {
    await release().catch((error: unknown) => console.error('not released:', error))
  }
}
