/** What never changes, so that several hosts may have it (docs/adr/0059-snapshots-on-any-host.md, 0062). */
export interface Artifact {
  readonly id: string
  readonly kind: 'snapshot' | 'template'
  readonly workspace_id: string
  /** Of a snapshot: `user`, `fork` or `backup`. Of a template: `built`. */
  readonly origin: string
}

/** A backup of a database is restored from its disk, so its copies lack the memory, which may be gigabytes. */
export function comesWithoutMemory({ origin }: Artifact): boolean {
  return origin === 'backup'
}
