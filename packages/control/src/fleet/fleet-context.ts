import type { Platform } from '../platform/platform.ts'
import type { Seal } from '../platform/secrets/seal.ts'
import type { Fleet } from './fleet.ts'
import type { FleetAuthority } from './fleet-authority.ts'
import type { HeldSandboxes } from './held-sandboxes.ts'
import type { JoinedHosts } from './joined-hosts.ts'
import type { SandboxLocations } from './sandbox-locations.ts'
import type { SandboxReads } from './sandbox-reads.ts'

export interface FleetContext extends Platform {
  readonly fleetAuthority: FleetAuthority
  readonly joinedHosts: JoinedHosts
  /** Seals the authority's key, and what joined hosts share with control and with edges. */
  readonly fleetSeal: Seal
  readonly fleet: Fleet
  readonly locations: SandboxLocations
  /** Gives up stored copies that keep sandboxes from waking. */
  readonly held: HeldSandboxes
  readonly reads: SandboxReads
}
