import type { Host } from '../model/host.ts'
import type { Sandbox } from '../model/sandbox.ts'
import { SandboxRounds } from '../model/sandbox-rounds.ts'
import { takeFiles } from './take-files.ts'

const TICK_MS = 1000
/** Ticks between two polls of a sandbox: few after recent activity, many otherwise. */
const BUSY_TICKS = 2
const IDLE_TICKS = 20
/** Milliseconds after the last activity during which a guest is likely to spool another file. */
const BUSY_MS = 120_000
/** Ticks before the next poll of a guest without a spool, and after an error. */
const NONE_TICKS = 600
const FAILED_TICKS = 10

/** Archives what running durable guests have put into their spools. A poll does not count as activity and wakes no sandbox. */
export class ArchiveWatch {
  readonly #host: Host
  readonly #rounds: SandboxRounds

  constructor(host: Host) {
    this.#host = host
    this.#rounds = new SandboxRounds(host, {
      tickMs: TICK_MS,
      isWanted: (sandbox) => isWanted(sandbox) && host.store.lease.isHeld,
      look: (sandbox) => this.#take(sandbox),
    })
  }

  stop(): void {
    this.#rounds.stop()
  }

  async #take(sandbox: Sandbox): Promise<number> {
    const isBusy = sandbox.activity.idleMs < BUSY_MS
    try {
      const taken = await takeFiles(this.#host.store.archives, sandbox)
      sandbox.archiveError = null
      if (taken === null) return NONE_TICKS
      return taken > 0 ? 1 : isBusy ? BUSY_TICKS : IDLE_TICKS
    } catch (error) {
      if (isWanted(sandbox)) this.#note(sandbox, error)
      return FAILED_TICKS
    }
  }

  /** Logs each reason once: the error may persist for days. */
  #note(sandbox: Sandbox, error: unknown): void {
    const reason = error instanceof Error ? error.message : String(error)
    if (sandbox.archiveError === reason) return
    sandbox.archiveError = reason
    this.#host.log.warn({ err: error, sandbox_id: sandbox.id }, 'files of a guest cannot be archived')
  }
}

function isWanted({ manifest, stopping, vm, leaving }: Sandbox): boolean {
  const runs = manifest.durable && manifest.status === 'running' && vm !== null
  return runs && stopping === undefined && !leaving.signal.aborted
}
