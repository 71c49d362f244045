import { join } from 'node:path'
import type { AgentSandbox } from '@offshoot/contract/agent-api'
import type { SandboxId, WorkspaceId } from '@offshoot/contract/ids'
import type { SandboxStatus } from '@offshoot/contract/sandbox'
import type { Logger } from 'pino'
import type { DataDir } from '../host/data-dir.ts'
import { SandboxEvents } from '../events/sandbox-events.ts'
import { SandboxLog } from '../logs/sandbox-log.ts'
import { CONSOLE } from '../vm/machine.ts'
import type { Vm } from '../vm/vm.ts'
import type { Manifest } from './manifest.ts'
import { Turns } from './turns.ts'

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

/** One sandbox of this agent: what its folder says, and its VM while it has one. */
export class Sandbox {
  readonly id: SandboxId
  readonly workspaceId: WorkspaceId
  /** One change of state at a time; reads do not wait here. */
  readonly transitions = new Turns(1, MAX_WAITING)
  readonly events: SandboxEvents
  /** Its console and what its commands write. */
  readonly log: SandboxLog
  /** Its background commands that are watched, and the timers of those that have a limit (`background-watch.ts`). */
  readonly background = { watched: new Set<string>(), limits: new Map<string, NodeJS.Timeout>() }
  manifest: Manifest
  vm: Vm | null = null
  /** The removal under way, shared by all who ask for one. */
  removal: Promise<void> | undefined

  constructor(manifest: Manifest, { dir, log }: { readonly dir: DataDir; readonly log: Logger }) {
    this.id = manifest.id as SandboxId
    this.workspaceId = manifest.workspace_id as WorkspaceId
    this.manifest = manifest
    const folder = dir.sandbox(this.id)
    this.events = new SandboxEvents(folder, log)
    this.log = new SandboxLog({ folder, consolePath: join(dir.vm(this.id), CONSOLE), log })
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
