import type { LayerId } from './layer-id.ts'

/** What one VM's disk consists of, above its bake's. */
export interface DiskChain {
  /** The layer that QEMU writes, a file in the VM's folder. */
  readonly active: LayerId
  /** The frozen layers below it, the lowest first. */
  readonly layers: readonly LayerId[]
}
