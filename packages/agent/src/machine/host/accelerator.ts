import { readFile } from 'node:fs/promises'
import { accelerator as acceleratorSchema, type Accelerator } from '@offshoot/contract/agent-api'
import type { AcceleratorChoice } from '@offshoot/contract/process-config'
import { Deadline } from '@offshoot/kit/deadline'
import { writeFileDurably } from '@offshoot/kit/write-file-durably'
import { z } from 'zod'
import { readHostBootId } from './boot-id.ts'
import { measureTscKhz } from './tsc.ts'

const MEASURE_MS = 30_000

const probeResult = z.object({
  /** The boot of the host that the result is valid for. */
  boot_id: z.string(),
  accelerator: acceleratorSchema,
  /** Why not KVM; `null` under KVM. */
  reason: z.string().nullable().default(null),
  /** The probe of KVM ran into its limit of time: it is expensive to find that out again. */
  is_timeout: z.boolean().default(false),
  /** QEMU's model of the CPU; `null` under TCG. */
  cpu: z.string().nullable().default(null),
  tsc_khz: z.number(),
  /** What was tried, where it matters to the result: another QEMU, kernel or device may do what this one could not. */
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
  /** Of the kept result. */
  readonly path: string
  /** Names what the answer depends on beside the host. */
  readonly tried: string
  readonly wanted: AcceleratorChoice
  /** Whether a kept failure is tried again. One that took a timeout to find is tried again only for who insists on KVM. */
  readonly retriesFailure: boolean
  /** @param lastCpu the model that guests here have had so far */
  readonly probe: (lastCpu: string | null) => Promise<KvmResult>
  readonly measure?: typeof measureTscKhz
}

/**
 * How this host runs guests. Decided by running some, because /dev/kvm may open and even make a vCPU, and a guest still
 * never boots. The result is kept for this boot of the host.
 */
export async function chooseAccelerator({
  path,
  wanted,
  measure = measureTscKhz,
  ...choice
}: Choice): Promise<HostSpeed> {
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
