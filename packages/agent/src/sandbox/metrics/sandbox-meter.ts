import type { MetricsPoint } from '@offshoot/contract/sandbox-metrics'
import type { ProcessIdentity } from '@offshoot/kit/process-identity'
import type { TapTraffic } from '../../machine/network/taps.ts'
import { type Sample, SampleRing } from './sample-ring.ts'
import type { UsageRecord } from '../../store/sandboxes/usage-file.ts'

/** What the host's own counters say of a VM at one moment. */
export interface Reading {
  readonly process: ProcessIdentity
  /** Since the process started. */
  readonly cpuSeconds: number
  readonly hostPrivateBytes: number
  /** Since the TAP was made, and when it was read, by a clock that only goes forward; `null`: no TAP. */
  readonly traffic: (TapTraffic & { readonly readAtMs: number }) | null
}

interface Counting {
  readonly process: ProcessIdentity
  readonly cpuSeconds: number
  readonly traffic: Reading['traffic']
}

/**
 * The counters of one sandbox, over all the VMs that it has one after the other. Each VM's own counters begin anew, so what
 * is added up is how much they have grown since they were last read. The values read last are part of the record on disk:
 * a VM that ran on while its agent did not loses nothing.
 */
export class SandboxMeter {
  #cpuSeconds = 0
  #inBytes = 0
  #outBytes = 0
  #diskBytes = 0
  #hostPrivateBytes = 0
  #guestUsed: { readonly bytes: number; readonly atMs: number } | null = null
  #counting: Counting | null = null
  /** When the guest's word was last put into the ring. */
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

  /** Milliseconds of Unix time of the latest sample kept; `null`: none is. */
  get latestMs(): number | null {
    return this.#ring.latestMs
  }

  /** Takes over a reading. That of a process which has not been seen before is where its traffic begins to count. */
  read({ process, cpuSeconds, traffic, hostPrivateBytes }: Reading): void {
    this.#hostPrivateBytes = hostPrivateBytes
    const isSame =
      this.#counting?.process.pid === process.pid && this.#counting.process.startTicks === process.startTicks
    const before = isSame ? this.#counting : null
    this.#cpuSeconds += Math.max(0, cpuSeconds - (before?.cpuSeconds ?? 0))
    // Readings of all TAPs are shared, so one that is older than the last may come after it.
    const isNewer = traffic !== null && traffic.readAtMs > (before?.traffic?.readAtMs ?? -1)
    if (isNewer && before !== null && before.traffic !== null) {
      this.#inBytes += growth(before.traffic.inBytes, traffic.inBytes)
      this.#outBytes += growth(before.traffic.outBytes, traffic.outBytes)
    }
    this.#counting = { process, cpuSeconds, traffic: isNewer ? traffic : (before?.traffic ?? null) }
  }

  /** The VM that was counted has gone; the totals stay. */
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

  /** Puts the values of now among the samples of the last hour. */
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

/** A counter that is smaller than before belongs to a TAP that was made anew, and began at zero. */
function growth(before: number, now: number): number {
  return now >= before ? now - before : now
}

function present(sample: Sample): MetricsPoint {
  return {
    ts: new Date(sample.atMs).toISOString(),
    // The host counts hundredths of a second; sums of them in binary have longer tails.
    cpu_seconds: Math.round(sample.cpuSeconds * 100) / 100,
    memory_guest_used_bytes: sample.guestUsedBytes,
    memory_host_private_bytes: sample.hostPrivateBytes,
    disk_bytes: sample.diskBytes,
    network_in_bytes: sample.networkInBytes,
    network_out_bytes: sample.networkOutBytes,
  }
}
