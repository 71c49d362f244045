import type { Platform } from '../platform/platform.ts'
import type { Fleet } from './fleet.ts'
import type { SandboxPlaces } from './sandbox-places.ts'
import type { SandboxReads } from './sandbox-reads.ts'

export interface FleetContext extends Platform {
  readonly fleet: Fleet
  readonly places: SandboxPlaces
  readonly reads: SandboxReads
}
