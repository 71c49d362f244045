import type { Seed } from './seed.ts'
import type { Vm } from '../../machine/vm/vm.ts'

/**
 * A guest restored from its template before anybody asked for it. It stands still, its processes held: no instruction but
 * those of our own guest program runs before it has its identity. Nobody's command was ever run in it.
 */
export interface Spare {
  readonly seed: Seed
  readonly slot: number
  /** `spares/ID`; becomes `sandboxes/ID`. */
  readonly folder: string
  readonly vm: Vm
  /** MiB that it has of its own. */
  readonly memoryMib: number
}
