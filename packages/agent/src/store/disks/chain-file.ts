import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { writeFileDurably } from '@offshoot/kit/write-file-durably'
import { z } from 'zod'
import type { DiskChain } from './disk-chain.ts'
import { layerId } from './layer-id.ts'

/** In a sandbox's folder. */
const CHAIN = 'chain.json'

const diskChain = z.object({ active: layerId, layers: z.array(layerId) })

/**
 * Notes what the disk of a durable sandbox consists of, for the day on which its QEMU is gone and cannot be asked. Written before
 * the chain changes: a new layer that nothing was written to yet may be named too early, none too late.
 */
export async function writeChain(folder: string, chain: DiskChain): Promise<void> {
  await writeFileDurably(join(folder, CHAIN), `${JSON.stringify(chain)}\n`)
}

/** `null` when it was never noted, or is damaged. */
export async function readChain(folder: string): Promise<DiskChain | null> {
  try {
    return diskChain.parse(JSON.parse(await readFile(join(folder, CHAIN), 'utf8')))
  } catch {
    return null
  }
}
