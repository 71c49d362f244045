import { access, constants, readFile } from 'node:fs/promises'
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
  tsc_khz: z.number(),
  /** QEMU and kernel that were tried: others may do what these could not. */
  tried: z.string(),
})

export interface HostSpeed {
  readonly accelerator: Accelerator
  readonly tscKhz: number
}

/**
 * How this host runs guests. Decided by booting one, because /dev/kvm may open and even make a vCPU, and a guest still
 * never boots; asked once per boot of the host and kept.
 *
 * @param tried names what the answer depends on beside the host
 * @param bootsUnderKvm boots a small guest and says whether it came up
 */
export async function chooseAccelerator(
  path: string,
  tried: string,
  bootsUnderKvm: () => Promise<boolean>,
): Promise<HostSpeed> {
  const kept = await readKept(path)
  const bootId = await readHostBootId()
  if (kept?.boot_id === bootId && kept.tried === tried) return { accelerator: kept.accelerator, tscKhz: kept.tsc_khz }
  const tscKhz = await measureTscKhz(kept?.tsc_khz, Deadline.after(MEASURE_MS, 'speed of the time-stamp counter'))
  const accelerator = (await hasKvmDevice()) && (await bootsUnderKvm()) ? 'kvm' : 'tcg'
  const result = { boot_id: bootId, accelerator, tsc_khz: tscKhz, tried } as const
  await writeFileDurably(path, `${JSON.stringify(result)}\n`)
  return { accelerator, tscKhz }
}

async function readKept(path: string) {
  try {
    return probeResult.parse(JSON.parse(await readFile(path, 'utf8')))
  } catch {
    return null
  }
}

async function hasKvmDevice(): Promise<boolean> {
  return access('/dev/kvm', constants.R_OK | constants.W_OK).then(
    () => true,
    () => false,
  )
}
