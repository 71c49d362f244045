/**
 * What each sandbox uses of this host, now and over the last hour.
 *
 * A round every 10 s reads the host's own counters of every VM. A sandbox without a VM costs nothing: its totals lie in its
 * folder, and no memory is kept for it once its last sample is an hour old. Nothing here is asked of a guest, but for its
 * memory, when somebody wants to know it.
 *
 *     (on disk) ──VM starts, or somebody asks──► metered ──no VM, last sample an hour old──► (on disk)
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
import type { GuestNetwork } from '../../machine/network/guest-network.ts'
import type { TapTraffic } from '../../machine/network/taps.ts'
import type { Sandbox } from './sandbox.ts'
import type { Vm } from '../../machine/vm/vm.ts'
import { GuestMemoryQuestion } from './guest-memory.ts'
import { SandboxMeter } from '../metrics/sandbox-meter.ts'
import { readUsage, UsageDamaged, writeUsage } from '../../store/sandboxes/usage-file.ts'

const HISTORY_MS = METRICS_HISTORY_SECONDS * 1000
/** Milliseconds between two writes of the totals of a sandbox with a VM: what is lost where agent and VM die together. */
const WRITE_MS = 60_000
/** Milliseconds between two looks at the disk in rounds: they cost more than the rest, and disks change slowly. */
const DISK_MS = 30_000
/** Milliseconds for which a reading answers requests and the rest of a round. */
const FRESH_MS = 1000

/** What of its host this needs: a host has one of these, so that it cannot ask for the whole of it. */
interface Place {
  readonly dir: DataDir
  readonly layers: Layers
  /** `null` where guests have no TAPs. */
  readonly network: Pick<GuestNetwork, 'traffic' | 'refused'> | null
  readonly sandboxes: ReadonlyMap<SandboxId, Sandbox>
  readonly log: Logger
}

interface Metered {
  /** What is done with its counters, one after the other. Never rejects. */
  turn: Promise<unknown>
  pending: number
  /** `null` until the record on disk has been read. */
  meter: SandboxMeter | null
  diskAtMs: number
  /** The last reading, by the clock that only goes forward, and by that of the wall. */
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

  /** A VM begins to be a sandbox's, or is taken over from an earlier agent: its traffic counts from here on. */
  attach(sandbox: Sandbox, vm: Vm): void {
    void this.#inTurn(sandbox, (metered) => {
      metered.writtenAtMs = Number.NEGATIVE_INFINITY
      return this.#read(sandbox, metered, 0)
    })
    void this.#awaitEnd(sandbox, vm)
  }

  /** Before the VM of a sandbox that stays is ended: counts what it has used up to now. */
  async settle(sandbox: Sandbox): Promise<void> {
    await this.#inTurn(sandbox, (metered) => this.#read(sandbox, metered, 0))
  }

  /** Resolves when nothing is written into the folder of a deleted sandbox any more. */
  async forget(sandbox: Sandbox): Promise<void> {
    await this.#metered.get(sandbox)?.turn
    this.#metered.delete(sandbox)
  }

  /** Wakes nothing, and waits for a guest a second at most. */
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

  /** Every sandbox with a VM as of its last sample: reads nothing. */
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

  /** VM by VM, so that a thousand of them hold up nothing else for longer than one of them takes. */
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
    // Another VM may have come in its place meanwhile.
    if (sandbox.vm !== null && !sandbox.vm.hasEnded) return
    metered.meter?.end()
    await this.#write(sandbox, metered, true)
  }

  /** One after the other for each sandbox. What fails is logged: no operation on a sandbox fails for its figures. @returns `null` then */
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
        'counters of a sandbox begin at zero: the file with them is damaged, and was put aside',
      )
      return null
    })
    return new SandboxMeter({
      maxSamples: METRICS_HISTORY_SECONDS / SAMPLE_SECONDS,
      hasNetwork: network !== null,
      record,
    })
  }

  /** Reads the host's counters of the VM, and its disk where that was last looked at before `diskMs`. @returns false where there is no VM */
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
    // It may have ended, or have a successor in another slot.
    if (used === null || sandbox.vm !== vm) return false
    const { cpuSeconds, privateBytes } = used
    metered.meter.read({ process: vm.process, cpuSeconds, hostPrivateBytes: privateBytes, traffic })
    metered.readAtMs = performance.now()
    metered.readAt = Date.now()
    return true
  }

  /** @param freshMs how old it may be at most; 0: read from here on */
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

  /** The layers above the bake; one that a snapshot or a fork has too counts for each. */
  async #diskBytes({ id, vm, manifest }: Sandbox): Promise<number> {
    const { dir, layers } = this.#host
    const isFrozen = manifest.status === 'hibernated' || vm === null || vm.disk === null
    const frozen = isFrozen ? manifest.layers : (vm.disk?.layers ?? [])
    const active = isFrozen || vm.disk === null ? [] : [join(dir.vm(id), fileOfLayer(vm.disk.active))]
    return allocatedBytes([...frozen.map((layer) => layers.path(layer)), ...active])
  }

  /**
   * Before anybody is told figures of a VM: an agent that comes after a crash must go on from them, or counters would go
   * backwards. Without a reader the first sample writes, so that creates do not pay for it.
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
