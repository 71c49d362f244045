import { setTimeout as wait } from 'node:timers/promises'
import { GuestUnavailable } from '@offshoot/guest-link/guest-link-error'
import { GuestLink } from '@offshoot/guest-link/link'
import { Deadline } from '@offshoot/kit/deadline'
import { isAlive, signalProcess, type ProcessIdentity } from '@offshoot/kit/process-identity'
import { QmpClient } from '@offshoot/qmp/client'
import type { DiskChain } from '../../store/disks/disk-chain.ts'
import { hasChannel, ownSocket } from './channel.ts'
import type { LaunchedQemu, QemuLog, VmEnd } from './launch.ts'
import { GUEST_SOCKET, QMP_SOCKET } from './machine.ts'
import { readDiskChain } from './read-disk-chain.ts'

/** A process that is not our child tells nobody of its end; once its monitor has closed, the end is this near. */
const END_POLL_MS = 2

/** One running QEMU with its monitor and the channel to its guest. */
export class Vm {
  readonly process: ProcessIdentity
  readonly qmp: QmpClient
  /** Its messages; `null` where another agent process started it. */
  readonly log: QemuLog | null
  /** Resolves when the process is gone, however it went. */
  readonly ended: Promise<VmEnd>
  /** What its disk consists of; `null` where nobody will ask: a bake, a probe. */
  disk: DiskChain | null
  /** Its disk outlives it. */
  isDurable = false
  /** Its disks may be held back (`machine/disks/throttle.ts`). */
  isThrottled = false
  /** Records each chain before it becomes what the disk is (`store/disks/chain-file.ts`). `null` where nobody adopts the VM. */
  recordDisk: ((chain: DiskChain) => Promise<void>) | null = null
  /** A flattening of the disk that is under way (`machine/disks/flatten.ts`). */
  flattening: Promise<void> | null = null
  #folder: string
  /** It was started in a jail (native/jail.c): its sockets are apart from its folder. */
  readonly isJailed: boolean
  readonly #shutBy = new Set<Promise<void>>()
  #link: Promise<GuestLink> | undefined
  /** Aborts when the process is gone. */
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

  /** Takes over a VM that another agent process started. */
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

  /** After QEMU's working directory was renamed: what is open stays open, and relative paths hold at the same depth. */
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
   * The channel to the guest, once nothing keeps it shut; made anew when it broke. Concurrent callers share one attempt.
   * @throws DeadlineExceeded when the guest does not answer, GuestUnavailable when the VM ends; what a step threw that kept
   *   it shut
   */
  async link(deadline: Deadline): Promise<GuestLink> {
    if (this.#shutBy.size > 0) await deadline.race(Promise.all(this.#shutBy))
    this.#link ??= this.#connect(deadline)
    return this.#link
  }

  /** Keeps the channel shut until the step is done; for ever when that fails. */
  shutUntil(step: Promise<void>): void {
    this.#shutBy.add(step)
    step.then(
      () => this.#shutBy.delete(step),
      () => undefined,
    )
  }

  /** The guest stands still from here on, for nobody knows how long: who waits for it is told. */
  refuse(): void {
    void this.#link?.then(
      (link) => link.rejectRequests(),
      () => undefined,
    )
  }

  /** Ends QEMU at once: nothing of a VM that is going away is worth flushing. */
  async kill(deadline: Deadline): Promise<void> {
    await signalProcess(this.process, 'SIGKILL')
    await deadline.race(this.ended)
    await this.detach()
  }

  /** Lets go of the VM, which runs on. */
  async detach(): Promise<void> {
    this.qmp.close()
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
