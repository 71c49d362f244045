import { readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { writeFileDurably } from '@offshoot/kit/write-file-durably'
import { z } from 'zod'

/** In a sandbox's folder, root's alone. */
const USAGE = 'usage.json'
const DAMAGED = `${USAGE}.damaged`

const count = z.number().min(0)

const usageRecord = z.object({
  version: z.literal(1),
  /** Totals over the life of the sandbox on this agent. */
  cpu_seconds: count,
  network_in_bytes: count,
  network_out_bytes: count,
  /** The last known levels. */
  disk_bytes: count,
  guest_used: z.object({ bytes: count, at_ms: count }).nullable(),
  /** What the host's own counters were when these totals were right; `null`: no VM counts on. */
  vm: z
    .object({
      pid: z.int(),
      start_ticks: z.int(),
      cpu_seconds: count,
      network: z.object({ in_bytes: count, out_bytes: count }).nullable(),
    })
    .nullable(),
})
export type UsageRecord = z.infer<typeof usageRecord>

/** @throws Error if the text is no record */
export function parseUsage(text: string): UsageRecord {
  return usageRecord.parse(JSON.parse(text))
}

/** The record is there and cannot be understood. It has been put aside, under this path. */
export class UsageDamaged extends Error {
  override readonly name = 'UsageDamaged'
}

/**
 * `null`: nothing was ever noted.
 * @throws UsageDamaged; what reading threw (EIO, EMFILE): the record may be whole, so that nothing may be written in its place
 */
export async function readUsage(folder: string): Promise<UsageRecord | null> {
  const path = join(folder, USAGE)
  let text: string
  try {
    text = await readFile(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
  try {
    return parseUsage(text)
  } catch (error) {
    await rename(path, join(folder, DAMAGED))
    throw new UsageDamaged(join(folder, DAMAGED), { cause: error })
  }
}

/**
 * Replaces the record.
 * @param isDurable waits for the disk: for a sandbox that outlives a loss of power, which a VM that runs does not
 */
export async function writeUsage(folder: string, record: UsageRecord, isDurable: boolean): Promise<void> {
  const path = join(folder, USAGE)
  const content = `${JSON.stringify(record)}\n`
  if (isDurable) return writeFileDurably(path, content)
  await writeFile(`${path}.new`, content, { mode: 0o600 })
  await rename(`${path}.new`, path)
}
