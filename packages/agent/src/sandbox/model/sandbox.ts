import { join } from 'node:path'
import type { AgentSandbox } from '@offshoot/contract/agent-api'
import { ApiError } from '@offshoot/contract/errors'
import type { SandboxId, WorkspaceId } from '@offshoot/contract/ids'
import type { SandboxStatus } from '@offshoot/contract/sandbox'
import type { Logger } from 'pino'
import type { LayerId } from '../../store/disks/layer-id.ts'
import type { DataDir } from '../../store/data-dir/data-dir.ts'
import { SandboxEvents } from '../../store/events/sandbox-events.ts'
import { SandboxLog } from '../../store/logs/sandbox-log.ts'
import { CONSOLE } from '../../machine/vm/machine.ts'
import type { VmEnd } from '../../machine/vm/launch.ts'
import type { Vm } from '../../machine/vm/vm.ts'
import { Activity } from './activity.ts'
import type { Manifest } from '../../store/sandboxes/manifest.ts'
import { TooManyWaiting, Semaphore } from '@offshoot/kit/semaphore'

/** Transitions that wait behind one another for one sandbox. */
const MAX_WAITING = 64

const shown: Record<Manifest['status'], SandboxStatus> = {
  creating: 'creating',
  running: 'running',
  paused: 'paused',
  hibernated: 'hibernated',
  failed: 'failed',
  // Who deletes it waits for the end; to everybody else it is what cannot be used any more.
  deleting: 'failed',
}

/** How a wake went. */
export interface Wake {
  /** The sandbox was booted from its disk: what was in its memory is lost. */
  readonly isCold: boolean
}

/** What a sandbox needs of its agent. */
interface Place {
  readonly dir: DataDir
  readonly log: Logger
  readonly wake: (sandbox: Sandbox) => Promise<Wake>
}

/** One sandbox of this agent: what its folder says, and its VM while it has one. */
export class Sandbox {
  readonly id: SandboxId
  readonly workspaceId: WorkspaceId
  /** One change of state at a time; reads do not wait here. */
  readonly transitions = new Semaphore(1, MAX_WAITING)
  readonly events: SandboxEvents
  /** Its console and what its commands write. */
  readonly log: SandboxLog
  /** Its background commands that are watched, and the timers of those that have a limit (`background-watch.ts`). */
  readonly background = { watched: new Set<string>(), limits: new Map<string, NodeJS.Timeout>() }
  /** Aborts when it is to be deleted: every other change is given up, with `404 sandbox not found`. */
  readonly leaving = new AbortController()
  activity = new Activity()
  manifest: Manifest
  vm: Vm | null = null
  /**
   * A VM that has ended, until that is recorded. `layers` are those of its disk: neither the VM nor the manifest names them
   * meanwhile, and a sweep must leave them.
   */
  lost: { readonly end: VmEnd; readonly layers: readonly LayerId[] } | null = null
  /** Of a sandbox that is being made: settles when its first manifest is on the disk. */
  firstManifest: { readonly onDisk: Promise<void> } = { onDisk: Promise.resolve() }
  /** Why nothing of it could be archived at the last try; `null`: it could. */
  archiveError: string | null = null
  /** A pause or hibernation under way; settles, and never rejects, when it is over. */
  stopping: Promise<void> | undefined
  /** The wake under way, shared by all who wait for it. */
  waking: Promise<Wake> | undefined
  /** The removal under way, shared by all who ask for one. */
  removal: Promise<void> | undefined
  readonly #wake: (sandbox: Sandbox) => Promise<Wake>

  constructor(manifest: Manifest, { dir, log, wake }: Place) {
    this.id = manifest.id as SandboxId
    this.workspaceId = manifest.workspace_id as WorkspaceId
    this.manifest = manifest
    this.#wake = wake
    const folder = dir.sandbox(this.id)
    this.events = new SandboxEvents(folder, log)
    this.log = new SandboxLog({ folder, consolePath: join(dir.vm(this.id), CONSOLE), log })
  }

  /**
   * One change of state, in turn with the others; given up, with its reason, when `cancelled` aborts.
   * @throws ApiError 404 when it is deleted meanwhile, 409 when too many wait
   */
  async change<T>(change: (cancelled: AbortSignal) => Promise<T>): Promise<T> {
    const { signal } = this.leaving
    try {
      return await this.transitions.run(() => change(signal), signal)
    } catch (error) {
      if (signal.aborted) throw new ApiError('sandboxNotFound', {}, { cause: error })
      if (!(error instanceof TooManyWaiting)) throw error
      throw new ApiError('conflict', { detail: 'too many changes of this sandbox are waiting' }, { cause: error })
    }
  }

  /** Brings it back from hibernation; callers at the same time share one wake. Nothing happens to one that runs. */
  wake(): Promise<Wake> {
    return this.#wake(this)
  }

  show(lastSeq: number): AgentSandbox {
    const { id, workspace_id, template, boot_ms, boot_mode, guest_ip, cpu, memory_mb } = this.manifest
    const { from_snapshot, parent_id, fork_tree_id } = this.manifest
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
      last_seq: lastSeq,
    }
  }
}
