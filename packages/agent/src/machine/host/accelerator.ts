import { readFile } from 'node:fs/promises'
import { accelerator as acceleratorSchema, type Accelerator } from '@offshoot/contract/agent-api'
import type { AcceleratorChoice } from '@offshoot/contract/process-config'
import { Deadline } from '@offshoot/kit/deadline'
import { writeFileDurably } from '@offshoot/kit/write-file-durably'
import { z } from 'zod'
import { readHostBootId } from './boot-id.ts'

const MEASURE_MS = 30_000

const probeResult = z.object({
  /** The boot of the host that the result is valid for. */
  boot_id: z.string(),
  accelerator: acceleratorSchema,
  /** Why not KVM; `null` under KVM. */
  reason: z.string().nullable().default(null),
  /** The probe ran into its time limit. Another one would cost that time again. */
  is_timeout: z.boolean().default(false),
  /** QEMU's model of the CPU; `null` under TCG. */
  cpu: z.string().nullable().default(null),
  tsc_khz: z.number(),
  /** QEMU, kernel, device and settings of the probe. The result is valid for these only. */
  tried: z.string(),
})
type Kept = z.infer<typeof probeResult>

export interface HostSpeed {
  readonly accelerator: Accelerator
  /** Why not KVM; `null` under KVM. */
  readonly reason: string | null
  /** QEMU's model of the CPU; `null` under TCG. */
  readonly cpu: string | null
  readonly tscKhz: number
}

export type KvmResult =
  | { readonly works: true; readonly cpu: string }
  | { readonly works: false; readonly reason: string; readonly isTimeout: boolean }

export interface Choice {
  /** The file of the stored result. */
  readonly path: string
  /** Names QEMU, kernel, device and settings: see `probeResult`. */
  readonly tried: string
  readonly wanted: AcceleratorChoice
  /** Whether to probe again after a failure. After a time limit that also takes `wanted: 'kvm'`. */
  readonly retriesFailure: boolean
  /** @param lastCpu the model of this agent's existing guests */
  readonly probe: (lastCpu: string | null) => Promise<KvmResult>
  /** Frequency of the host's time-stamp counter in kHz; `known` if it is the same counter. */
  readonly measure: (known: number | undefined, deadline: Deadline) => Promise<number>
}

/**
 * Chooses between KVM and TCG by running guests: on some hosts /dev/kvm opens and creates vCPUs, but no guest ever boots.
 * Stores the result until the host's next boot.
 */
export async function chooseAccelerator({ path, wanted, measure, ...choice }: Choice): Promise<HostSpeed> {
  const kept = await readKept(path)
  const bootId = await readHostBootId()
  const tried = wanted === 'tcg' ? `${choice.tried} not wanted` : choice.tried
  const isFailureKept = !choice.retriesFailure || (kept?.is_timeout === true && wanted !== 'kvm')
  if (kept?.boot_id === bootId && kept.tried === tried && (kept.accelerator === 'kvm' || isFailureKept)) {
    return { accelerator: kept.accelerator, reason: kept.reason, cpu: kept.cpu, tscKhz: kept.tsc_khz }
  }
  const tscKhz = await measure(kept?.tsc_khz, Deadline.after(MEASURE_MS, 'speed of the time-stamp counter'))
  const result = wanted === 'tcg' ? NOT_WANTED : await choice.probe(kept?.cpu ?? null)
  const found = result.works
    ? ({ accelerator: 'kvm', reason: null, is_timeout: false, cpu: result.cpu } as const)
    : ({ accelerator: 'tcg', reason: result.reason, is_timeout: result.isTimeout, cpu: null } as const)
  const content: Kept = { boot_id: bootId, ...found, tsc_khz: tscKhz, tried }
  await writeFileDurably(path, `${JSON.stringify(content)}\n`)
  return { accelerator: found.accelerator, reason: found.reason, cpu: found.cpu, tscKhz }
}

const NOT_WANTED: KvmResult = { works: false, reason: 'software emulation was asked for', isTimeout: false }

async function readKept(path: string): Promise<Kept | null> {
  try {
    return probeResult.parse(JSON.parse(await readFile(path, 'utf8')))
  } catch {
    return null
  }
}
