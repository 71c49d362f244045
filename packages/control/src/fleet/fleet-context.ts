import type { Platform } from '../platform/platform.ts'
import type { Fleet } from './fleet.ts'
import type { SandboxLocations } from './sandbox-locations.ts'
import type { SandboxReads } from './sandbox-reads.ts'

export interface FleetContext extends Platform {
  readonly fleet: Fleet
  readonly locations: SandboxLocations
  readonly reads: SandboxReads
}
