import type { Host } from './host.ts'

/** Sizes of the guests that have a VM now, MiB: of sandboxes, and of those that wait for one. */
export function guestsWithVms({ sandboxes, pool }: Host): number[] {
  const running = [...sandboxes.values()].filter(({ vm }) => vm !== null)
  return [
    ...running.map(({ manifest }) => manifest.memory_mb),
    ...pool.spares.map(({ seed }) => seed.manifest.memory_mb),
  ]
}
