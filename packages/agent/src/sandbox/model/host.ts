import type { SandboxId } from '@offshoot/contract/ids'
import type { Logger } from 'pino'
import type { Archives } from '../../store/archives/archives.ts'
import type { CaptureThreads } from '../../machine/capture/capture-threads.ts'
import type { Checkpoints } from '../../store/checkpoints/checkpoints.ts'
import type { SpentCredit } from '../../store/credit/spent-credit.ts'
import type { Layers } from '../../store/disks/layers.ts'
import type { EventDraft, EventLog } from '../../store/events/event-log.ts'
import type { Cgroups } from '../../machine/host/cgroups.ts'
import type { DataDir } from '../../store/data-dir/data-dir.ts'
import type { DiskRoom } from '../../store/data-dir/disk-room.ts'
import type { Jail } from '../../machine/host/jail.ts'
import type { Qemu } from '../../machine/host/qemu.ts'
import type { Ledger } from '../../store/ledger/ledger.ts'
import type { GuestNetwork } from '../../machine/network/guest-network.ts'
import type { UsageWatch } from './usage-watch.ts'
import type { Snapshots } from '../../store/snapshots/snapshots.ts'
import type { Pool } from '../pool/pool.ts'
import type { BakedTemplate } from '../../machine/bakes/bakes.ts'
import type { BuiltTemplates } from '../../store/templates/built-templates.ts'
import type { Volumes } from '../../store/volumes/volumes.ts'
import type { BootFiles } from '../../machine/restore/restore.ts'
import type { Machine } from '../../machine/vm/machine.ts'
import type { Machines } from '../../machine/vm/machines.ts'
import type { Admission } from './admission.ts'
import type { Sandbox, Wake } from './sandbox.ts'
import type { Slots } from '../../machine/slots/slots.ts'
import type { Semaphore } from '@offshoot/kit/semaphore'

/** What every operation on a sandbox works with. */
export interface Host {
  readonly dir: DataDir
  /** Of the data directory's file system. */
  readonly room: DiskRoom
  readonly ledger: Ledger
  readonly qemu: Qemu
  /** What QEMU and other readers of guests' data run in; `null` where the host does not let us make it. */
  readonly jail: Jail | null
  /** `null` where the host gives none. */
  readonly cgroups: Cgroups | null
  readonly machines: Machines
  readonly layers: Layers
  readonly checkpoints: Checkpoints<Machine>
  readonly captureThreads: CaptureThreads
  readonly snapshots: Snapshots
  readonly archives: Archives
  readonly volumes: Volumes
  /** Built here, by workspaces. */
  readonly templates: BuiltTemplates<BakedTemplate>
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
  readonly usage: UsageWatch
  readonly log: Logger
  readonly gates: Gates
  /** See `Sandbox.wake`. */
  readonly wake: (sandbox: Sandbox) => Promise<Wake>
}

/** What bounds the work that is done at the same time. */
export interface Gates {
  readonly admission: Admission
  /** VMs being restored. */
  readonly restores: Semaphore
  /** Checkpoints being written of guests that go on. */
  readonly captures: Semaphore
  /** And of guests that are to end, so that no fork waits for one of them. */
  readonly hibernations: Semaphore
}

/** Writes an event about a sandbox to the agent's log, durably; then those who read the sandbox's own hear of it. */
export async function announce(
  host: Host,
  { id, workspaceId, events }: Pick<Sandbox, 'id' | 'workspaceId' | 'events'>,
  draft: Pick<EventDraft, 'type' | 'message' | 'metadata'>,
): Promise<void> {
  events.add(await host.events.append({ ...draft, sandboxId: id, workspaceId }))
}
