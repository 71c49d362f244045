import { readFileSync } from 'node:fs'
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { ApiError } from '@offshoot/contract/errors'
import type { AgentLease, LeaseBody, LeaseState } from '@offshoot/contract/agent-lease'
import { writeFileDurably } from '@offshoot/kit/write-file-durably'
import type { Logger } from 'pino'
import { z } from 'zod'
import { readRecord } from '../ledger/read-record.ts'
import { LeaseTerm } from './lease-term.ts'

/** Exists from the first lease on, until control gives leases up. */
const leaseRecord = z.object({ generation: z.int().min(0) })

interface Options {
  /** In the data directory. It outlives a boot. */
  readonly recordPath: string
  /** Launchers of durable VMs read it (native/jail-lease.c). `null`: this host takes no lease. */
  readonly endFile: string | null
  /** Whether VMs have launchers. */
  readonly canStop: boolean
  readonly bootId: string
  /** Milliseconds since the host's boot, with the time for which it slept. */
  readonly now?: () => number
  readonly log: Pick<Logger, 'error' | 'warn' | 'info'>
}

/**
 * The host's lease, without which none of its durable VMs runs (docs/adr/0056-host-leases.md).
 *
 * without (no record) → held → ended → held → …; control gives leases up: without
 *
 * - The file names the end of the lease. The VMs' launchers stop and continue them by it, so this process may be stopped
 *   or killed at any time.
 * - A VM that was started when there was no lease obeys the first one within a second, because its launcher reads the
 *   file again and again.
 */
export class HostLease {
  readonly file: string | null
  readonly #options: Options
  readonly #now: () => number
  #term: LeaseTerm
  /** `null`: no lease is needed. */
  #generation: number | null
  #writing: Promise<unknown> = Promise.resolve()

  private constructor(options: Options, generation: number | null, term: LeaseTerm) {
    this.#options = options
    this.#now = options.now ?? uptimeMs
    this.file = options.endFile
    this.#generation = generation
    this.#term = term
  }

  static async open(options: Options): Promise<HostLease> {
    const { recordPath, endFile, bootId, log } = options
    if (endFile === null) return new HostLease(options, null, new LeaseTerm())
    await mkdir(dirname(endFile), { recursive: true, mode: 0o700 })
    const read = await readRecord(recordPath, (content) => leaseRecord.parse(content))
    if (read.state === 'absent') {
      await rm(endFile, { force: true })
      return new HostLease(options, null, new LeaseTerm())
    }
    if (read.state === 'unreadable')
      log.error({ err: read.error, path: recordPath }, 'record of the lease not readable')
    const endsAtMs = await readEnd(endFile, bootId)
    const lease = new HostLease(
      options,
      read.state === 'present' ? read.record.generation : 0,
      new LeaseTerm(endsAtMs ?? 0),
    )
    if (endsAtMs === null) await lease.#writeEnd(0)
    return lease
  }

  get isRequired(): boolean {
    return this.#generation !== null
  }

  /** Milliseconds until the lease ends; 0: it has ended, or there is none. */
  get leftMs(): number {
    return Math.max(0, this.#term.endsAtMs - this.#now())
  }

  /** Whether durable VMs may run now. */
  get isHeld(): boolean {
    return !this.isRequired || this.leftMs > 0
  }

  /** Call this before a durable VM changes or starts. @throws ApiError 503 */
  refuseIfEnded(): void {
    if (this.isHeld) return
    throw new ApiError('leaseEnded')
  }

  /** @param stoppedVms durable VMs, if there is no lease */
  state(stoppedVms: number): LeaseState {
    return {
      is_required: this.isRequired,
      left_ms: this.isRequired ? Math.ceil(this.leftMs) : 0,
      generation: this.#generation ?? 0,
      stopped_vms: this.isHeld ? 0 : stoppedVms,
    }
  }

  /**
   * Renews the lease, and makes the next challenge.
   * @param obeys whether the launcher of every durable VM reads the file
   */
  async renew(
    { challenge, seconds, generation }: LeaseBody,
    obeys: boolean,
  ): Promise<Omit<AgentLease, keyof LeaseState>> {
    if (this.file === null || !this.#options.canStop || !obeys) return { challenge: null, is_renewed: false }
    const isRenewed = challenge !== undefined && (await this.#inTurn(() => this.#renew(challenge, seconds, generation)))
    return { challenge: this.#term.challenge(this.#now()), is_renewed: isRenewed }
  }

  /** Control gives leases up: durable VMs run without one from now on. */
  async giveUp(): Promise<void> {
    await this.#inTurn(async () => {
      if (this.file === null || this.#generation === null) return
      // A start after the first step alone requires a lease, and control gives it up again.
      await rm(this.file, { force: true })
      await rm(this.#options.recordPath, { force: true })
      this.#generation = null
      this.#term.end()
      this.#options.log.info('the host needs no lease any more')
    })
  }

  /** Removes the file when no VM is left to read it. The record stays: the next start waits for another lease. */
  async removeFile(): Promise<void> {
    if (this.file !== null) await rm(this.file, { force: true })
  }

  async #renew(challenge: string, seconds: number, generation: number): Promise<boolean> {
    const endsAtMs = this.#term.endAfter(challenge, seconds)
    if (endsAtMs === null) return false
    if (this.#generation !== generation) {
      const record: z.infer<typeof leaseRecord> = { generation }
      await writeFileDurably(this.#options.recordPath, `${JSON.stringify(record)}\n`)
    }
    await this.#writeEnd(endsAtMs)
    this.#generation = generation
    return this.#term.renew(challenge, seconds)
  }

  /** The launchers never see a part of the file. It need not survive a power cut, after which there is no lease. */
  async #writeEnd(endsAtMs: number): Promise<void> {
    const { endFile, bootId } = this.#options
    if (endFile === null) return
    const beside = `${endFile}.new`
    await writeFile(beside, `${Math.floor(endsAtMs)} ${bootId}\n`, { mode: 0o600 })
    await rename(beside, endFile)
  }

  #inTurn<T>(change: () => Promise<T>): Promise<T> {
    const changed = this.#writing.then(change)
    this.#writing = changed.catch(() => undefined)
    return changed
  }
}

/** @returns `null` if there is none of this boot */
async function readEnd(path: string, bootId: string): Promise<number | null> {
  const text = await readFile(path, 'utf8').catch(() => '')
  const [, ms, boot] = /^(\d+) (\S+)\n$/.exec(text) ?? []
  return boot === bootId ? Number(ms) : null
}

/** The clock of Node.js does not count while the host sleeps. The launchers read the same file. */
export function uptimeMs(): number {
  return Math.round(Number.parseFloat(readFileSync('/proc/uptime', 'latin1')) * 1000)
}
