import type { MetricsPoint } from '@offshoot/contract/sandbox-metrics'
import type { ProcessIdentity } from '@offshoot/kit/process-identity'
import type { TapTraffic } from '../../machine/network/taps.ts'
import { type Sample, SampleRing } from './sample-ring.ts'
import type { UsageRecord } from '../../store/sandboxes/usage-file.ts'

/** The host's counters of a VM at one time. */
export interface Reading {
  readonly process: ProcessIdentity
  /** Since the process started. */
  readonly cpuSeconds: number
  readonly hostPrivateBytes: number
  /** Bytes since the TAP was created, and the time of the reading on the monotonic clock; `null` without a TAP. */
  readonly traffic: (TapTraffic & { readonly readAtMs: number }) | null
}

interface Counting {
  readonly process: ProcessIdentity
  readonly cpuSeconds: number
  readonly traffic: Reading['traffic']
}

/**
 * The counters of one sandbox, over all VMs that it has one after the other. The counters of each VM start at zero, so the meter
 * adds up their growth between readings. The record on disk contains the last reading, so that the next agent counts what a VM
 * used while no agent ran.
 */
export class SandboxMeter {
  #cpuSeconds = 0
  #inBytes = 0
  #outBytes = 0
  #diskBytes = 0
  #hostPrivateBytes = 0
  #guestUsed: { readonly bytes: number; readonly atMs: number } | null = null
  #counting: Counting | null = null
  /** The time of the guest's last answer in the ring. */
  #keptGuestAtMs = 0
  readonly #ring: SampleRing
  readonly #hasNetwork: boolean

  constructor(options: {
    readonly maxSamples: number
    readonly hasNetwork: boolean
    readonly record: UsageRecord | null
  }) {
    this.#ring = new SampleRing(options.maxSamples)
    this.#hasNetwork = options.hasNetwork
    const { record } = options
    if (record === null) return
    this.#cpuSeconds = record.cpu_seconds
    this.#inBytes = record.network_in_bytes
    this.#outBytes = record.network_out_bytes
    this.#diskBytes = record.disk_bytes
    if (record.guest_used !== null) {
      this.#guestUsed = { bytes: record.guest_used.bytes, atMs: record.guest_used.at_ms }
      this.#keptGuestAtMs = record.guest_used.at_ms
    }
    if (record.vm !== null) {
      const { pid, start_ticks, cpu_seconds, network } = record.vm
      const traffic = network && { inBytes: network.in_bytes, outBytes: network.out_bytes, readAtMs: 0 }
      this.#counting = { process: { pid, startTicks: start_ticks }, cpuSeconds: cpu_seconds, traffic }
    }
  }

  /** Milliseconds of Unix time of the latest sample; `null` if there is none. */
  get latestMs(): number | null {
    return this.#ring.latestMs
  }

  /** Adds a reading. The traffic of a new process counts from its first reading on. */
  read({ process, cpuSeconds, traffic, hostPrivateBytes }: Reading): void {
    this.#hostPrivateBytes = hostPrivateBytes
    const isSame =
      this.#counting?.process.pid === process.pid && this.#counting.process.startTicks === process.startTicks
    const before = isSame ? this.#counting : null
    this.#cpuSeconds += Math.max(0, cpuSeconds - (before?.cpuSeconds ?? 0))
    // Sandboxes share the readings of all TAPs, so that an older one may arrive after a newer one.
    const isNewer = traffic !== null && traffic.readAtMs > (before?.traffic?.readAtMs ?? -1)
    if (isNewer && before !== null && before.traffic !== null) {
      this.#inBytes += growth(before.traffic.inBytes, traffic.inBytes)
      this.#outBytes += growth(before.traffic.outBytes, traffic.outBytes)
    }
    this.#counting = { process, cpuSeconds, traffic: isNewer ? traffic : (before?.traffic ?? null) }
  }

  /** The VM has ended. The totals stay. */
  end(): void {
    this.#counting = null
    this.#hostPrivateBytes = 0
  }

  setDisk(bytes: number): void {
    this.#diskBytes = bytes
  }

  setGuestUsed(bytes: number, atMs: number): void {
    this.#guestUsed = { bytes, atMs }
  }

  /** Adds the current values to the samples of the last hour. */
  keep(atMs: number): void {
    const guest = this.#guestUsed !== null && this.#guestUsed.atMs > this.#keptGuestAtMs ? this.#guestUsed : null
    if (guest !== null) this.#keptGuestAtMs = guest.atMs
    this.#ring.push({ ...this.#sample(atMs), guestUsedBytes: guest?.bytes ?? null })
  }

  now(atMs: number): MetricsPoint & { readonly memory_guest_used_ts: string | null } {
    const guest = this.#guestUsed
    return { ...present(this.#sample(atMs)), memory_guest_used_ts: guest && new Date(guest.atMs).toISOString() }
  }

  points(sinceMs: number, stepMs: number): MetricsPoint[] {
    return this.#ring.points(sinceMs, stepMs).map(present)
  }

  record(): UsageRecord {
    const counting = this.#counting
    return {
      version: 1,
      cpu_seconds: this.#cpuSeconds,
      network_in_bytes: this.#inBytes,
      network_out_bytes: this.#outBytes,
      disk_bytes: this.#diskBytes,
      guest_used: this.#guestUsed && { bytes: this.#guestUsed.bytes, at_ms: this.#guestUsed.atMs },
      vm: counting && {
        pid: counting.process.pid,
        start_ticks: counting.process.startTicks,
        cpu_seconds: counting.cpuSeconds,
        network: counting.traffic && { in_bytes: counting.traffic.inBytes, out_bytes: counting.traffic.outBytes },
      },
    }
  }

  #sample(atMs: number): Sample {
    return {
      atMs,
      cpuSeconds: this.#cpuSeconds,
      guestUsedBytes: this.#guestUsed?.bytes ?? null,
      hostPrivateBytes: this.#hostPrivateBytes,
      diskBytes: this.#diskBytes,
      networkInBytes: this.#hasNetwork ? this.#inBytes : null,
      networkOutBytes: this.#hasNetwork ? this.#outBytes : null,
    }
  }
}

/** A counter that is smaller than before belongs to a new TAP, which started at zero. */
function growth(before: number, now: number): number {
  return now >= before ? now - before : now
}

function present(sample: Sample): MetricsPoint {
  return {
    ts: new Date(sample.atMs).toISOString(),
    // The host counts hundredths of a second. Removes the rounding errors of their binary sums.
    cpu_seconds: Math.round(sample.cpuSeconds * 100) / 100,
    memory_guest_used_bytes: sample.guestUsedBytes,
    memory_host_private_bytes: sample.hostPrivateBytes,
    disk_bytes: sample.diskBytes,
    network_in_bytes: sample.networkInBytes,
    network_out_bytes: sample.networkOutBytes,
  }
}
