import { setTimeout as wait } from 'node:timers/promises'
import { GuestUnavailable } from '@offshoot/guest-link/guest-link-error'
import { GuestLink } from '@offshoot/guest-link/link'
import { Deadline } from '@offshoot/kit/deadline'
import { traceStep } from '@offshoot/kit/otlp/telemetry'
import { isAlive, signalProcess, type ProcessIdentity } from '@offshoot/kit/process-identity'
import { QmpClient } from '@offshoot/qmp/client'
import type { MemoryFiles } from '../../store/checkpoints/checkpoint-files.ts'
import type { DiskChain } from '../../store/disks/disk-chain.ts'
import type { LayerId } from '../../store/disks/layer-id.ts'
import { hasChannel, ownSocket } from './channel.ts'
import type { Confinement } from './confinement.ts'
import type { LaunchedQemu, QemuLog, VmEnd } from './launch.ts'
import { GUEST_SOCKET, QMP_SOCKET } from './machine.ts'
import { readDiskChain } from './read-disk-chain.ts'

/**
 * Milliseconds for a process to end after its monitor has closed. The agent gets no notice of the end of a process that is
 * not its child.
 */
const END_POLL_MS = 2

/** One running QEMU with its monitor and the channel to its guest. */
export class Vm {
  readonly process: ProcessIdentity
  readonly qmp: QmpClient
  /** Its log; `null` if another agent process started it. */
  readonly log: QemuLog | null
  /** Resolves when the process has ended in any way. */
  readonly ended: Promise<VmEnd>
  /** The layers of its disk; `null` if nothing needs them: in a bake or a probe. */
  disk: DiskChain | null
  /** Frozen layers of its disk that are known to be empty (`machine/disks/needed-layers.ts`). */
  emptyLayers: ReadonlySet<LayerId> = new Set()
  /**
   * Layers of its memory that captures have written and its QEMU has mapped since, the lowest first: the bases of the next capture.
   * Their files are links in the sandbox's folder. Empty if nothing was kept, or if another agent process has kept it.
   */
  memory: readonly MemoryFiles[] = []
  /** `true`: its disk outlives it. */
  isDurable = false
  /** `true`: its launcher stops it at the end of the host's lease. */
  obeysLease = false
  /** `true`: its disks have rate limits (`machine/disks/throttle.ts`). */
  isThrottled = false
  /** Records each new chain before the disk changes (`store/disks/chain-file.ts`). `null` if no agent will adopt the VM. */
  recordDisk: ((chain: DiskChain) => Promise<void>) | null = null
  /** The flattening of its disk in progress (`machine/disks/flatten.ts`). */
  flattening: Promise<void> | null = null
  #folder: string
  /** `true`: it has a jail (native/jail.c), and its sockets are outside of its folder. */
  readonly isJailed: boolean
  readonly #shutBy = new Set<Promise<void>>()
  #link: Promise<GuestLink> | undefined
  /** Aborts when the process has ended. */
  readonly #gone = new AbortController()
  #hasEnded = false

  constructor(
    folder: string,
    { process, log, qmp, ended, isJailed }: Omit<LaunchedQemu, 'socket' | 'log'> & Pick<Vm, 'log'>,
    disk: DiskChain | null,
  ) {
    this.disk = disk
    this.log = log
    this.isJailed = isJailed
    this.process = process
    this.qmp = qmp
    this.#folder = folder
    this.ended = ended.then((end) => {
      this.#hasEnded = true
      this.#gone.abort(new GuestUnavailable('the VM has ended'))
      this.qmp.close()
      return end
    })
  }

  /** A VM that this agent has started. */
  static of(
    folder: string,
    launched: LaunchedQemu,
    disk: DiskChain,
    { isDurable, confinement }: { readonly isDurable: boolean; readonly confinement: Pick<Confinement, 'lease'> },
  ): Vm {
    const vm = new Vm(folder, launched, disk)
    vm.isDurable = isDurable
    vm.obeysLease = launched.isJailed && confinement.lease != null
    return vm
  }

  /** Adopts a VM that another agent process started. */
  static async adopt(folder: string, process: ProcessIdentity, deadline: Deadline): Promise<Vm> {
    const isJailed = await hasChannel(folder)
    const qmp = await QmpClient.connect(await ownSocket(folder, QMP_SOCKET, isJailed), deadline)
    const ended = qmp.closed.then(async () => {
      while (await isAlive(process)) await wait(END_POLL_MS)
      return { exitCode: null, signal: null }
    })
    const vm = new Vm(folder, { process, log: null, qmp, ended, isJailed }, await readDiskChain(qmp, deadline))
    vm.isThrottled = true
    return vm
  }

  /** QEMU's working directory. */
  get folder(): string {
    return this.#folder
  }

  /**
   * Call this after a rename of QEMU's working directory. Open files stay open, and relative paths are valid at the same
   * depth.
   */
  moved(folder: string): void {
    this.#folder = folder
  }

  /** The path of one of its sockets. @throws ForeignSocket */
  async socket(name: string): Promise<string> {
    return ownSocket(this.#folder, name, this.isJailed)
  }

  get hasEnded(): boolean {
    return this.#hasEnded
  }

  /**
   * Returns the link to the guest, once it is open to users, and connects again if it broke. Concurrent callers share one
   * attempt.
   * @throws DeadlineExceeded if the guest does not answer, GuestUnavailable if the VM ends, or the error of a step that
   *   keeps the channel closed
   */
  async link(deadline: Deadline): Promise<GuestLink> {
    if (this.#shutBy.size > 0) await traceStep('opening of the channel', () => deadline.race(Promise.all(this.#shutBy)))
    this.#link ??= this.#connect(deadline)
    return this.#link
  }

  /** Keeps the channel closed until the step has succeeded, and forever if it fails. */
  shutUntil(step: Promise<void>): void {
    this.#shutBy.add(step)
    step.then(
      () => this.#shutBy.delete(step),
      () => undefined,
    )
  }

  /** Fails all waiting callers: the guest is stopped for an unknown time. */
  refuse(): void {
    void this.#link?.then(
      (link) => link.rejectRequests(),
      () => undefined,
    )
  }

  /** Kills QEMU. Nothing of the VM needs a flush. */
  async kill(deadline: Deadline): Promise<void> {
    signalProcess(this.process, 'SIGKILL')
    await traceStep('end of QEMU', () => deadline.race(this.ended))
    await this.detach()
  }

  /** Releases the VM, which continues to run. */
  async detach(): Promise<void> {
    this.qmp.close()
    await this.closeLink()
  }

  /** The next caller of {@link link} connects again. */
  async closeLink(): Promise<void> {
    const link = await this.#link?.catch(() => null)
    link?.close()
  }

  async #connect(deadline: Deadline): Promise<GuestLink> {
    const forget = () => {
      this.#link = undefined
    }
    try {
      const cancelled = AbortSignal.any([deadline.signal, this.#gone.signal])
      const inTime = Deadline.after(deadline.remainingMs, 'answer of a guest', cancelled)
      const link = await GuestLink.connect(await this.socket(GUEST_SOCKET), inTime)
      void link.closed.then(forget)
      return link
    } catch (error) {
      forget()
      throw error
    }
  }
}
