import type { Host } from './host.ts'

/** Memory sizes in MiB of the guests that have a VM now: of sandboxes, spares and zygotes. */
export function guestsWithVms({ sandboxes, pool, zygotes }: Host): number[] {
  const running = [...sandboxes.values()].filter(({ vm }) => vm !== null)
  return [
    ...running.map(({ manifest }) => manifest.memory_mb),
    ...[...pool.spares, ...zygotes.all].map(({ seed }) => seed.manifest.memory_mb),
  ]
}
