import { readFile } from 'node:fs/promises'
import { accelerator as acceleratorSchema, type Accelerator } from '@offshoot/contract/agent-api'
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
  tsc_khz: z.number(),
  /** What was tried, where it matters to the result: another QEMU, kernel or device may do what this one could not. */
  tried: z.string(),
})

export interface HostSpeed {
  readonly accelerator: Accelerator
  /** Why not KVM; `null` under KVM. */
  readonly reason: string | null
  readonly tscKhz: number
}

/**
 * How this host runs guests. Decided by running one, because /dev/kvm may open and even make a vCPU, and a guest still
 * never boots. The result is kept for this boot of the host.
 *
 * @param tried names what the answer depends on beside the host
 * @param probe runs a guest under KVM; gives why that does not work, or `null`
 */
export async function chooseAccelerator(
  path: string,
  tried: string,
  probe: () => Promise<string | null>,
): Promise<HostSpeed> {
  const kept = await readKept(path)
  const bootId = await readHostBootId()
  if (kept?.boot_id === bootId && kept.tried === tried) {
    const { accelerator, reason, tsc_khz: tscKhz } = kept
    return { accelerator, reason, tscKhz }
  }
  const tscKhz = await measureTscKhz(kept?.tsc_khz, Deadline.after(MEASURE_MS, 'speed of the time-stamp counter'))
  const reason = await probe()
  const accelerator = reason === null ? 'kvm' : 'tcg'
  const result: z.infer<typeof probeResult> = { boot_id: bootId, accelerator, reason, tsc_khz: tscKhz, tried }
  await writeFileDurably(path, `${JSON.stringify(result)}\n`)
  return { accelerator, reason, tscKhz }
}

async function readKept(path: string) {
  try {
    return probeResult.parse(JSON.parse(await readFile(path, 'utf8')))
  } catch {
    return null
  }
}
