import type { Zygote } from '../../machine/zygotes/zygote.ts'
import type { Seed } from './seed.ts'
import type { Vm } from '../../machine/vm/vm.ts'

/**
 * A guest in the warm pool, restored from its template or copied from a zygote before a create needs it. Its processes are held:
 * before it gets its identity, only the agent's own guest program runs. No tenant's command ever ran in it.
 */
export interface Spare {
  readonly seed: Seed
  readonly slot: number
  /** `spares/ID`; the create renames it to `sandboxes/ID`. */
  readonly folder: string
  readonly vm: Vm
  /** Host memory in MiB that this VM does not share with others. */
  readonly memoryMib: number
  /** Copied from a zygote, so its first commands take less time. */
  readonly isCopy: boolean
}

/** The zygote of a template, in a slot of its own. */
export interface PoolZygote extends Pick<Spare, 'seed' | 'slot' | 'folder' | 'memoryMib'> {
  readonly zygote: Zygote
}
