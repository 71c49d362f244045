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
 * Notes what the disk of a sandbox consists of: for the day on which its QEMU is gone and cannot be asked, and for the agent that
 * adopts its VM and must not believe what QEMU says. Written before the chain changes: a new layer that nothing was written to yet
 * may be named too early, none too late.
 * @param isDurable the disk outlives its VM, so that the note must survive a power cut
 */
export async function writeChain(folder: string, chain: DiskChain, isDurable: boolean): Promise<void> {
  const content = `${JSON.stringify(chain)}\n`
  if (isDurable) return writeFileDurably(chainPath(folder), content)
  const beside = `${chainPath(folder)}.new`
  await writeFile(beside, content, { mode: 0o600 })
  await rename(beside, chainPath(folder))
}

/** `absent`: it was never noted. */
export async function readChain(folder: string): Promise<RecordRead<DiskChain>> {
  return readRecord(chainPath(folder), (content) => diskChain.parse(content))
}

export function chainPath(folder: string): string {
  return join(folder, CHAIN)
}
