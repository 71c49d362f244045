/**
 * The usage of each sandbox on this host, now and over the last hour.
 *
 * Every 10 s a round reads the host's counters of every VM. A sandbox without a VM costs nothing: its totals are in its folder,
 * and the agent forgets its samples an hour after the last one. The agent asks the guest for one figure only, its used memory,
 * and only when a caller requests it.
 *
 *     (on disk) ──VM starts, or a caller asks──► metered ──no VM, last sample an hour old──► (on disk)
 */
import { join } from 'node:path'
import { ApiError } from '@offshoot/contract/errors'
import {
  type AgentUsage,
  MAX_LISTED_USAGE,
  METRICS_HISTORY_SECONDS,
  type MetricsQuery,
  SAMPLE_SECONDS,
  type SandboxMetrics,
} from '@offshoot/contract/sandbox-metrics'
import type { SandboxId } from '@offshoot/contract/ids'
import type { Logger } from 'pino'
import { fileOfLayer } from '../../store/disks/layer-id.ts'
import type { Layers } from '../../store/disks/layers.ts'
import type { DataDir } from '../../store/data-dir/data-dir.ts'
import { allocatedBytes } from '../../store/data-dir/disk-usage.ts'
import { readProcessUsage } from '../../machine/host/process-memory.ts'
import type { Cgroups } from '../../machine/host/cgroups.ts'
import type { GuestNetwork } from '../../machine/network/guest-network.ts'
import type { TapTraffic } from '../../machine/network/taps.ts'
import type { Sandbox } from './sandbox.ts'
import type { Vm } from '../../machine/vm/vm.ts'
import { GuestMemoryQuestion } from './guest-memory.ts'
import { SandboxMeter } from '../metrics/sandbox-meter.ts'
import { readUsage, UsageDamaged, writeUsage } from '../../store/sandboxes/usage-file.ts'

const HISTORY_MS = METRICS_HISTORY_SECONDS * 1000
/** Milliseconds between two writes of a sandbox's totals: the usage that is lost if agent and VM die together. */
const WRITE_MS = 60_000
/** Milliseconds between two measurements of a disk in rounds: these cost more than the rest, and disks change slowly. */
const DISK_MS = 30_000
/** Milliseconds for which requests and the rest of a round reuse a reading. */
const FRESH_MS = 1000

/** The part of `Host` that this uses. Not all of it, because a `Host` contains a `UsageWatch`. */
interface Place {
  readonly dir: DataDir
  readonly layers: Layers
  /** `null` if guests have no TAPs. */
  readonly network: Pick<GuestNetwork, 'traffic' | 'refused'> | null
  /** `null` if VMs have no control groups. */
  readonly cgroups: Pick<Cgroups, 'privateBytes'> | null
  readonly sandboxes: ReadonlyMap<SandboxId, Sandbox>
  readonly log: Logger
}

interface Metered {
  /** The end of the queue of operations on the counters. Never rejects. */
  turn: Promise<unknown>
  pending: number
  /** `null` until the record on disk has been read. */
  meter: SandboxMeter | null
  diskAtMs: number
  /** The time of the last reading, on the monotonic clock and on the wall clock. */
  readAtMs: number
  readAt: number
  writtenAtMs: number
  readonly guest: GuestMemoryQuestion
}

export class UsageWatch {
  readonly #host: Place
  readonly #metered = new Map<Sandbox, Metered>()
  #timer: NodeJS.Timeout | undefined
  #isSampling = false
  #traffic: { readonly startedAtMs: number; readonly read: Promise<Map<number, TapTraffic>> } | null = null

  constructor(host: Place) {
    this.#host = host
  }

  start(): void {
    this.#timer = setInterval(() => void this.#round(), SAMPLE_SECONDS * 1000).unref()
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  /** A sandbox gets a VM, or the agent adopts it: its traffic counts from here on. */
  attach(sandbox: Sandbox, vm: Vm): void {
    void this.#inTurn(sandbox, (metered) => {
      metered.writtenAtMs = Number.NEGATIVE_INFINITY
      return this.#read(sandbox, metered, 0)
    })
    void this.#awaitEnd(sandbox, vm)
  }

  /** Counts the usage up to now, before the agent ends the VM of a sandbox that it keeps. */
  async settle(sandbox: Sandbox): Promise<void> {
    await this.#inTurn(sandbox, (metered) => this.#read(sandbox, metered, 0))
  }

  /** Forgets a deleted sandbox. Resolves when no write into its folder is in progress. */
  async forget(sandbox: Sandbox): Promise<void> {
    await this.#metered.get(sandbox)?.turn
    this.#metered.delete(sandbox)
  }

  /** Does not wake the sandbox, and waits for its guest at most a second. */
  async show(sandbox: Sandbox, { since, step }: MetricsQuery): Promise<SandboxMetrics> {
    const guestUsed = await this.#meteredOf(sandbox).guest.ask(sandbox)
    const shown = await this.#inTurn(sandbox, async (metered, meter) => {
      if (guestUsed !== null) meter.setGuestUsed(guestUsed, Date.now())
      if (sandbox.vm === null) await this.#readDisk(sandbox, meter)
      else if (await this.#read(sandbox, metered, FRESH_MS)) await this.#writeFirst(sandbox, metered)
      const nowMs = Date.now()
      return {
        now: meter.now(sandbox.vm === null || metered.readAt === 0 ? nowMs : metered.readAt),
        step_seconds: step,
        points: meter.points(Math.max(since ?? 0, nowMs - HISTORY_MS), step * 1000),
      }
    })
    if (shown !== null) return shown
    if (sandbox.leaving.signal.aborted) throw new ApiError('sandboxNotFound')
    throw new Error('the counters of a sandbox cannot be read')
  }

  /** The last sample of every sandbox with a VM. Takes no new sample. */
  async list(): Promise<AgentUsage> {
    const refused = await this.#host.network?.refused()
    const nowMs = Date.now()
    const all = [...this.#metered].flatMap(([{ id, workspaceId, vm, manifest }, { meter }]) => {
      if (vm === null || meter === null) return []
      const { memory_guest_used_ts: _asked, ...now } = meter.now(meter.latestMs ?? nowMs)
      const packets = refused === undefined ? null : (refused.get(manifest.slot) ?? 0)
      return [{ sandbox_id: id, workspace_id: workspaceId, ...now, refused_packets: packets }]
    })
    return { sandboxes: all.slice(0, MAX_LISTED_USAGE), omitted: Math.max(0, all.length - MAX_LISTED_USAGE) }
  }

  /** One VM after the other, so that a thousand VMs block the agent no longer than one does. */
  async #round(): Promise<void> {
    if (this.#isSampling) return
    this.#isSampling = true
    for (const [sandbox, metered] of this.#metered) {
      const isHere = this.#host.sandboxes.get(sandbox.id) === sandbox
      const latestMs = metered.meter?.latestMs ?? 0
      if (sandbox.vm !== null && isHere) await this.#inTurn(sandbox, (each) => this.#sample(sandbox, each))
      else if (metered.pending === 0 && (!isHere || Date.now() - latestMs > HISTORY_MS)) this.#metered.delete(sandbox)
    }
    this.#isSampling = false
  }

  async #sample(sandbox: Sandbox, metered: Metered): Promise<void> {
    if (!(await this.#read(sandbox, metered, FRESH_MS, DISK_MS))) return
    metered.meter?.keep(Date.now())
    if (performance.now() - metered.writtenAtMs >= WRITE_MS) await this.#write(sandbox, metered, false)
  }

  async #awaitEnd(sandbox: Sandbox, vm: Vm): Promise<void> {
    await vm.ended
    await this.#inTurn(sandbox, (metered) => this.#end(sandbox, metered))
  }

  async #end(sandbox: Sandbox, metered: Metered): Promise<void> {
    // The sandbox may have another VM by now.
    if (sandbox.vm !== null && !sandbox.vm.hasEnded) return
    metered.meter?.end()
    await this.#write(sandbox, metered, true)
  }

  /** Serializes `act` per sandbox. Logs a failure and returns `null`: no operation on a sandbox fails because of its usage. */
  #inTurn<T>(sandbox: Sandbox, act: (metered: Metered, meter: SandboxMeter) => Promise<T>): Promise<T | null> {
    const metered = this.#meteredOf(sandbox)
    metered.pending += 1
    const turn = metered.turn
      .then(async () => {
        metered.meter ??= await this.#load(sandbox)
        return act(metered, metered.meter)
      })
      .catch((error: unknown) => {
        if (!sandbox.leaving.signal.aborted)
          this.#host.log.warn({ err: error, sandbox_id: sandbox.id }, 'usage of a sandbox not counted')
        return null
      })
      .finally(() => (metered.pending -= 1))
    metered.turn = turn
    return turn
  }

  #meteredOf(sandbox: Sandbox): Metered {
    const known = this.#metered.get(sandbox)
    if (known !== undefined) return known
    const never = Number.NEGATIVE_INFINITY
    const metered: Metered = {
      turn: Promise.resolve(),
      pending: 0,
      meter: null,
      diskAtMs: never,
      readAtMs: never,
      readAt: 0,
      writtenAtMs: never,
      guest: new GuestMemoryQuestion(),
    }
    this.#metered.set(sandbox, metered)
    return metered
  }

  async #load({ id }: Sandbox): Promise<SandboxMeter> {
    const { dir, log, network } = this.#host
    const record = await readUsage(dir.sandbox(id)).catch((error: unknown) => {
      if (!(error instanceof UsageDamaged)) throw error
      log.error(
        { err: error, sandbox_id: id },
        'counters of a sandbox start at zero: their file is damaged, and was set aside',
      )
      return null
    })
    return new SandboxMeter({
      maxSamples: METRICS_HISTORY_SECONDS / SAMPLE_SECONDS,
      hasNetwork: network !== null,
      record,
    })
  }

  /** Reads the VM's counters, and its disk if the last measurement is older than `diskMs`. @returns `false` without a VM */
  async #read(sandbox: Sandbox, metered: Metered, freshMs: number, diskMs = freshMs): Promise<boolean> {
    const { vm, manifest } = sandbox
    if (vm === null || metered.meter === null) return false
    if (performance.now() - metered.readAtMs < freshMs) return true
    const traffic = await this.#trafficOf(manifest.slot, freshMs)
    if (performance.now() - metered.diskAtMs >= diskMs) {
      metered.diskAtMs = performance.now()
      metered.meter.setDisk(await this.#diskBytes(sandbox))
    }
    const used = readProcessUsage(vm.process)
    // The VM may have ended, and the sandbox may have another one in another slot.
    if (used === null || sandbox.vm !== vm) return false
    // A VM without a jail has joined its group late, which was not charged for the memory before.
    const charged = vm.isJailed ? this.#host.cgroups?.privateBytes(manifest.slot) : null
    const hostPrivateBytes = charged ?? used.privateBytes
    metered.meter.read({ process: vm.process, cpuSeconds: used.cpuSeconds, hostPrivateBytes, traffic })
    metered.readAtMs = performance.now()
    metered.readAt = Date.now()
    return true
  }

  /** @param freshMs maximum age of the reading; 0: a new one */
  async #trafficOf(slot: number, freshMs: number) {
    const { network } = this.#host
    if (network === null) return null
    const nowMs = performance.now()
    if (this.#traffic === null || nowMs - this.#traffic.startedAtMs > freshMs)
      this.#traffic = { startedAtMs: nowMs, read: network.traffic() }
    const { startedAtMs, read } = this.#traffic
    const traffic = (await read).get(slot)
    return traffic === undefined ? null : { ...traffic, readAtMs: startedAtMs }
  }

  async #readDisk(sandbox: Sandbox, meter: SandboxMeter): Promise<void> {
    if (sandbox.manifest.status === 'hibernated') meter.setDisk(await this.#diskBytes(sandbox))
  }

  /** Bytes of the layers above the bake. A layer that a snapshot or a fork shares counts for each. */
  async #diskBytes({ id, vm, manifest }: Sandbox): Promise<number> {
    const { dir, layers } = this.#host
    const isFrozen = manifest.status === 'hibernated' || vm === null || vm.disk === null
    const frozen = isFrozen ? manifest.layers : (vm.disk?.layers ?? [])
    const active = isFrozen || vm.disk === null ? [] : [join(dir.vm(id), fileOfLayer(vm.disk.active))]
    return allocatedBytes([...frozen.map((layer) => layers.path(layer)), ...active])
  }

  /**
   * Writes the record before the first answer to a caller: after a crash the next agent must continue from it, or counters would
   * decrease. If no caller asks, the first sample writes it, so that a create does not have to.
   */
  async #writeFirst(sandbox: Sandbox, metered: Metered): Promise<void> {
    if (metered.writtenAtMs === Number.NEGATIVE_INFINITY) await this.#write(sandbox, metered, false)
  }

  async #write(sandbox: Sandbox, metered: Metered, isDurable: boolean): Promise<void> {
    if (metered.meter === null || sandbox.leaving.signal.aborted) return
    metered.writtenAtMs = performance.now()
    await writeUsage(this.#host.dir.sandbox(sandbox.id), metered.meter.record(), isDurable)
  }
}
