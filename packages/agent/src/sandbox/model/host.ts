import type { SandboxId } from '@offshoot/contract/ids'
import type { Logger } from 'pino'
import type { HostObjects } from '../../store/objects/object-copies.ts'
import type { Archives } from '../../store/archives/archives.ts'
import type { CaptureThreads } from '../../machine/capture/capture-threads.ts'
import type { Checkpoints } from '../../store/checkpoints/checkpoints.ts'
import type { HostLease } from '../../store/lease/host-lease.ts'
import type { ObeyedCluster } from '../../store/events/obeyed-cluster.ts'
import type { SpentCredit } from '../../store/credit/spent-credit.ts'
import type { Layers } from '../../store/disks/layers.ts'
import type { EventDraft, EventLog } from '../../store/events/event-log.ts'
import type { Cgroups } from '../../machine/host/cgroups.ts'
import type { DataDir } from '../../store/data-dir/data-dir.ts'
import type { DiskRoom } from '../../store/data-dir/disk-room.ts'
import type { QemuVersions } from '../../machine/host/qemu-versions.ts'
import type { Ledger } from '../../store/ledger/ledger.ts'
import type { GuestNetwork } from '../../machine/network/guest-network.ts'
import type { UsageWatch } from './usage-watch.ts'
import type { Snapshots } from '../../store/snapshots/snapshots.ts'
import type { Pool } from '../pool/pool.ts'
import type { Zygotes } from '../pool/zygotes.ts'
import type { BakedTemplate } from '../../machine/bakes/bakes.ts'
import type { BuiltTemplates } from '../../store/templates/built-templates.ts'
import type { Volumes } from '../../store/volumes/volumes.ts'
import type { BootFiles } from '../../machine/restore/restore.ts'
import type { Machine } from '../../machine/vm/machine.ts'
import type { Machines } from '../../machine/vm/machines.ts'
import type { Arrivals } from './arrivals.ts'
import type { GivenUpAttempts } from './given-up-attempts.ts'
import type { BakeContents } from '../../store/bakes/bake-content.ts'
import type { Admission } from './admission.ts'
import type { Sandbox, Wake } from './sandbox.ts'
import type { Slots } from '../../machine/slots/slots.ts'
import { traceStep } from '@offshoot/kit/otlp/telemetry'
import type { Semaphore } from '@offshoot/kit/semaphore'

/** The services that operations on sandboxes use. */
export interface Host {
  readonly store: HostStore
  readonly platform: HostPlatform
  readonly sandboxes: Map<SandboxId, Sandbox>
  /** Sandboxes that are being received from other hosts. */
  readonly arrivals: Arrivals
  readonly givenUpAttempts: GivenUpAttempts
  readonly pool: Pool
  /** From which the pool's spares are copied. */
  readonly zygotes: Zygotes
  readonly gates: Gates
  readonly usage: UsageWatch
  readonly log: Logger
  /** See `Sandbox.wake`. */
  readonly wake: (sandbox: Sandbox) => Promise<Wake>
}

/** What the agent keeps on the disk. */
export interface HostStore {
  readonly dir: DataDir
  /** Of the data directory's file system. */
  readonly room: DiskRoom
  readonly ledger: Ledger
  readonly layers: Layers
  readonly bakeContents: BakeContents
  readonly checkpoints: Checkpoints<Machine>
  readonly snapshots: Snapshots
  readonly archives: Archives
  /** `null` if the operator has chosen no object store. */
  readonly objects: HostObjects | null
  readonly volumes: Volumes
  /** Templates that workspaces have built on this host. */
  readonly templates: BuiltTemplates<BakedTemplate>
  /** The workspaces that may start nothing because their credit is spent. */
  readonly credit: SpentCredit
  /** Whose control may delete here. */
  readonly cluster: ObeyedCluster
  /** Without it no durable VM runs, on a host that has had one. */
  readonly lease: HostLease
  readonly events: EventLog
}

/** What this host gives to VMs. */
export interface HostPlatform {
  /** The QEMU of new VMs with its jail, and earlier versions that checkpoints may need. Other readers of guests' data use the same jail. */
  readonly qemus: QemuVersions
  readonly machines: Machines
  readonly captureThreads: CaptureThreads
  /** Kernel and initramfs for a cold start. */
  readonly boot: BootFiles
  readonly slots: Slots
  /** `null` if the host provides none. */
  readonly cgroups: Cgroups | null
  /** `null` if the host provides no network for guests. `networkReason` says why. */
  readonly network: GuestNetwork | null
  readonly networkReason: string | null
  /** The program that lets QEMU inherit a TAP. */
  readonly withTap: string
}

/** Limits of concurrent work. */
export interface Gates {
  readonly admission: Admission
  /** Concurrent restores of VMs. */
  readonly restores: Semaphore
  /** Concurrent captures of guests that continue afterwards. */
  readonly captures: Semaphore
  /** Concurrent captures of guests that end afterwards. Separate, so that no fork waits for a hibernation. */
  readonly hibernations: Semaphore
}

/** Appends an event to the agent's log, durably, then sends it to the readers of the sandbox's events. */
export async function announce(
  store: HostStore,
  { id, workspaceId, events }: Pick<Sandbox, 'id' | 'workspaceId' | 'events'>,
  draft: Pick<EventDraft, 'type' | 'message' | 'metadata'>,
): Promise<void> {
  const append = () => store.events.append({ ...draft, sandboxId: id, workspaceId })
  events.add(await traceStep(`log ${draft.type}`, append))
}
