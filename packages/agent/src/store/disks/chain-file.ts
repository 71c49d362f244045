import { rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { writeFileDurably } from '@offshoot/kit/write-file-durably'
import { z } from 'zod'
import { readRecord, type RecordRead } from '../ledger/read-record.ts'
import type { DiskChain } from './disk-chain.ts'
import { layerId } from './layer-id.ts'

/** In a sandbox's folder. */
const CHAIN = 'chain.json'

const diskChain = z.object({ active: layerId, layers: z.array(layerId) })

/**
 * Records the layers of a sandbox's disk: for the case that its QEMU has ended and cannot report them, and for an agent that
 * adopts its VM and must not trust QEMU. Written before the chain changes: it may name a new, empty layer too early, but no
 * layer too late.
 * @param isDurable the disk outlives its VM, so the record must survive a power cut
 */
export async function writeChain(folder: string, chain: DiskChain, isDurable: boolean): Promise<void> {
  const content = `${JSON.stringify(chain)}\n`
  if (isDurable) return writeFileDurably(chainPath(folder), content)
  const beside = `${chainPath(folder)}.new`
  await writeFile(beside, content, { mode: 0o600 })
  await rename(beside, chainPath(folder))
}

/** `absent`: no chain was ever recorded. */
export async function readChain(folder: string): Promise<RecordRead<DiskChain>> {
  return readRecord(chainPath(folder), (content) => diskChain.parse(content))
}

export function chainPath(folder: string): string {
  return join(folder, CHAIN)
}
