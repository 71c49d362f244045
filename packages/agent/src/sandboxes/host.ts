import type { SandboxId } from '@offshoot/contract/ids'
import type { Logger } from 'pino'
import type { Archives } from '../archives/archives.ts'
import type { Checkpoints } from '../checkpoints/checkpoints.ts'
import type { SpentCredit } from '../credit/spent-credit.ts'
import type { Layers } from '../disks/layers.ts'
import type { EventDraft, EventLog } from '../events/event-log.ts'
import type { Cgroups } from '../host/cgroups.ts'
import type { DataDir } from '../host/data-dir.ts'
import type { Qemu } from '../host/qemu.ts'
import type { GuestNetwork } from '../net/guest-network.ts'
import type { Snapshots } from '../snapshots/snapshots.ts'
import type { Pool } from '../pool/pool.ts'
import type { BuiltTemplates } from '../templates/built-templates.ts'
import type { Volumes } from '../volumes/volumes.ts'
import type { BootFiles } from '../vm/restore.ts'
import type { Machines } from '../vm/machines.ts'
import type { Admission } from './admission.ts'
import type { Sandbox, Wake } from './sandbox.ts'
import type { Slots } from './slots.ts'
import type { Turns } from './turns.ts'

/** What every operation on a sandbox works with. */
export interface Host {
  readonly dir: DataDir
  readonly qemu: Qemu
  /** `null` where the host gives none. */
  readonly cgroups: Cgroups | null
  readonly machines: Machines
  readonly layers: Layers
  readonly checkpoints: Checkpoints
  readonly snapshots: Snapshots
  readonly archives: Archives
  readonly volumes: Volumes
  /** Built here, by workspaces. */
  readonly templates: BuiltTemplates
  /** Workspaces that may start nothing. */
  readonly credit: SpentCredit
  readonly events: EventLog
  readonly slots: Slots
  readonly pool: Pool
  /** `null` where the host gives guests no way out, for this reason. */
  readonly network: GuestNetwork | null
  readonly networkReason: string | null
  /** What is booted where a guest has no memory to be restored. */
  readonly boot: BootFiles
  /** The program that lets QEMU inherit a TAP. */
  readonly withTap: string
  readonly sandboxes: Map<SandboxId, Sandbox>
  readonly log: Logger
  readonly gates: Gates
  /** See `Sandbox.wake`. */
  readonly wake: (sandbox: Sandbox) => Promise<Wake>
}

/** What bounds the work that is done at the same time. */
export interface Gates {
  readonly admission: Admission
  /** VMs being restored. */
  readonly restores: Turns
  /** Checkpoints being written of guests that go on. */
  readonly captures: Turns
  /** And of guests that are to end, so that no fork waits for one of them. */
  readonly hibernations: Turns
}

/** Writes an event about a sandbox to the agent's log, durably; then those who read the sandbox's own hear of it. */
export async function announce(
  host: Host,
  { id, workspaceId, events }: Pick<Sandbox, 'id' | 'workspaceId' | 'events'>,
  draft: Pick<EventDraft, 'type' | 'message' | 'metadata'>,
): Promise<void> {
  events.add(await host.events.append({ ...draft, sandboxId: id, workspaceId }))
}
