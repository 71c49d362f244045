import type { SandboxId } from '@offshoot/contract/ids'
import type { Logger } from 'pino'
import type { EventDraft, EventLog } from '../events/event-log.ts'
import { appendSandboxEvent } from '../events/sandbox-events.ts'
import type { Cgroups } from '../host/cgroups.ts'
import type { DataDir } from '../host/data-dir.ts'
import type { Qemu } from '../host/qemu.ts'
import type { Sandbox } from './sandbox.ts'
import type { Slots } from './slots.ts'

/** What every operation on a sandbox works with. */
export interface Host {
  readonly dir: DataDir
  readonly qemu: Qemu
  /** `null` where the host gives none. */
  readonly cgroups: Cgroups | null
  /** See `Confinement.preload`. */
  readonly preload: string | null
  readonly events: EventLog
  readonly slots: Slots
  readonly sandboxes: Map<SandboxId, Sandbox>
  readonly log: Logger
}

/** Writes an event about a sandbox to the agent's log, durably, and to the sandbox's own. */
export async function announce(
  host: Host,
  { id, workspaceId }: Pick<Sandbox, 'id' | 'workspaceId'>,
  draft: Pick<EventDraft, 'type' | 'message' | 'metadata'>,
): Promise<void> {
  const record = await host.events.append({ ...draft, sandboxId: id, workspaceId })
  // A copy for reading; the truth is the agent's log, which has it already.
  await appendSandboxEvent(host.dir.sandbox(id), record).catch((error: unknown) =>
    host.log.warn({ err: error, sandbox_id: id }, 'sandbox event file not written'),
  )
}
