import type { GuestAttachment } from '@offshoot/guest-link/guest-attachment'
import { join } from 'node:path'
import type { AgentSandbox } from '@offshoot/contract/agent-api'
import { ApiError } from '@offshoot/contract/errors'
import type { SandboxId, WorkspaceId } from '@offshoot/contract/ids'
import type { SandboxStatus } from '@offshoot/contract/sandbox'
import type { Logger } from 'pino'
import type { LayerId } from '../../store/disks/layer-id.ts'
import type { DataDir } from '../../store/data-dir/data-dir.ts'
import type { HostLease } from '../../store/lease/host-lease.ts'
import { SandboxEvents } from '../../store/events/sandbox-events.ts'
import { SandboxLog } from '../../store/logs/sandbox-log.ts'
import { CONSOLE } from '../../machine/vm/machine.ts'
import type { VmEnd } from '../../machine/vm/launch.ts'
import type { Vm } from '../../machine/vm/vm.ts'
import { Activity } from './activity.ts'
import type { Manifest } from '../../store/sandboxes/manifest.ts'
import { TooManyWaiting, Semaphore } from '@offshoot/kit/semaphore'

/** Maximum transitions of one sandbox that wait. */
const MAX_WAITING = 64

const shown: Record<Manifest['status'], SandboxStatus> = {
  creating: 'creating',
  running: 'running',
  paused: 'paused',
  hibernated: 'hibernated',
  failed: 'failed',
  // The caller who deletes it waits for the end. Nobody else can use it any more.
  deleting: 'failed',
}

/** The result of a wake. */
export interface Wake {
  /** Whether it was a cold start from the disk: the content of the memory is lost. */
  readonly isCold: boolean
}

/** The services of the agent that a sandbox uses. */
interface Place {
  readonly store: { readonly dir: DataDir; readonly lease: HostLease }
  readonly log: Logger
  readonly wake: (sandbox: Sandbox) => Promise<Wake>
}

/** One sandbox of this agent: its manifest, and its VM while it has one. */
export class Sandbox {
  readonly id: SandboxId
  readonly workspaceId: WorkspaceId
  /** Serializes changes of state. Reads do not wait. */
  readonly transitions = new Semaphore(1, MAX_WAITING)
  readonly events: SandboxEvents
  /** The console, and the output of commands. */
  readonly log: SandboxLog
  /**
   * Background commands that the agent watches, its attachments to them, what to call when a client follows one that waits for it, and timers of those with a time limit
   * (`background-watch.ts`).
   */
  readonly background = {
    watched: new Set<string>(),
    attachments: new Map<string, GuestAttachment>(),
    waiting: new Map<string, () => void>(),
    limits: new Map<string, NodeJS.Timeout>(),
  }
  /** Aborts when a delete begins: all other changes are cancelled, with `404 sandbox not found`. */
  readonly leaving = new AbortController()
  activity = new Activity()
  manifest: Manifest
  vm: Vm | null = null
  /**
   * A VM whose end is not recorded yet. `layers` are those of its disk: neither the VM nor the manifest names them meanwhile,
   * and a sweep must keep them.
   */
  lost: { readonly end: VmEnd; readonly layers: readonly LayerId[] } | null = null
  /** Of a sandbox that is being made: settles when its first manifest is on the disk. */
  firstManifest: { readonly onDisk: Promise<void> } = { onDisk: Promise.resolve() }
  /** Ends the edge's connections for visitors whom it has not admitted. */
  readonly publicStreams = new Set<() => void>()
  /** Why nothing of it could be archived at the last try; `null`: it could. */
  archiveError: string | null = null
  /** The pause or hibernation in progress. Resolves when it is over. Never rejects. */
  stopping: Promise<void> | undefined
  /** The wake in progress, which concurrent callers share. */
  waking: Promise<Wake> | undefined
  #removal: Promise<void> | undefined
  readonly #wake: (sandbox: Sandbox) => Promise<Wake>
  readonly #lease: HostLease

  constructor(manifest: Manifest, { store: { dir, lease }, log, wake }: Place) {
    this.id = manifest.id as SandboxId
    this.workspaceId = manifest.workspace_id as WorkspaceId
    this.manifest = manifest
    this.#wake = wake
    this.#lease = lease
    const folder = dir.sandbox(this.id)
    this.events = new SandboxEvents(folder, log)
    this.log = new SandboxLog({ folder, consolePath: join(dir.vm(this.id), CONSOLE), log })
  }

  /**
   * Runs one change of state after the earlier ones. When `cancelled` aborts, `change` must stop with its reason.
   * @throws ApiError 404 if the sandbox is deleted meanwhile, 409 if it moves to another host or too many changes wait, 503
   *   if it is durable and the host has no lease
   */
  change<T>(change: (cancelled: AbortSignal) => Promise<T>): Promise<T> {
    return this.changeMove(async (cancelled) => {
      if (this.manifest.move !== undefined) throw new ApiError('sandboxMoving')
      // A create is refused where it starts the VM, and then removes what it has made.
      if (this.manifest.durable && this.manifest.status !== 'creating') this.#lease.refuseIfEnded()
      return change(cancelled)
    })
  }

  /** Like {@link change}, also for a sandbox that moves. */
  async changeMove<T>(change: (cancelled: AbortSignal) => Promise<T>): Promise<T> {
    const { signal } = this.leaving
    try {
      return await this.transitions.run(() => change(signal), signal)
    } catch (error) {
      if (signal.aborted) throw new ApiError('sandboxNotFound', {}, { cause: error })
      if (!(error instanceof TooManyWaiting)) throw error
      throw new ApiError('conflict', { detail: 'too many changes of this sandbox are waiting' }, { cause: error })
    }
  }

  /**
   * Cancels the change in progress, and runs `removal` before all waiting changes. Concurrent callers share one removal; a
   * failed one can be retried.
   */
  remove(removal: () => Promise<void>): Promise<void> {
    this.leaving.abort(new ApiError('sandboxNotFound'))
    this.#removal ??= this.transitions.runNext(removal).catch((error: unknown) => {
      this.#removal = undefined
      throw error
    })
    return this.#removal
  }

  /** Wakes a hibernated sandbox. Concurrent callers share one wake. No effect on a running sandbox. */
  wake(): Promise<Wake> {
    return this.#wake(this)
  }

  show(lastSeq: number): AgentSandbox {
    const { id, workspace_id, template, boot_ms, boot_mode, guest_ip, cpu, memory_mb } = this.manifest
    const { from_snapshot, parent_id, fork_tree_id, visibility } = this.manifest
    return {
      id,
      workspace_id,
      template,
      status: shown[this.manifest.status],
      boot_ms,
      boot_mode,
      guest_ip,
      cpu,
      memory_mb,
      from_snapshot,
      parent_id,
      fork_tree_id,
      visibility,
      last_seq: lastSeq,
      ...(this.manifest.move !== undefined && { move: this.manifest.move }),
    }
  }
}
