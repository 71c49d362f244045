import type { Host } from './host.ts'

/** Memory sizes in MiB of the guests that have a VM now: of sandboxes and of spares. */
export function guestsWithVms({ sandboxes, pool }: Host): number[] {
  const running = [...sandboxes.values()].filter(({ vm }) => vm !== null)
  return [
    ...running.map(({ manifest }) => manifest.memory_mb),
    ...pool.spares.map(({ seed }) => seed.manifest.memory_mb),
  ]
}
