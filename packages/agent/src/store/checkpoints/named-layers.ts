import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { readChain } from '../disks/chain-file.ts'
import { layerId, type LayerId } from '../disks/layer-id.ts'
import { readRecord } from '../ledger/read-record.ts'
import { checkpointFiles } from './checkpoint-files.ts'

/** Reads it without its signature: a changed record may keep too many layers, but never fewer than the original. */
const unsigned = z.object({ checkpoint: z.object({ layers: z.array(z.object({ id: layerId })) }) })

/**
 * The frozen layers that are named in the folder of a sandbox or snapshot, whose own record is missing or unreadable.
 * @returns `null` if it has a disk or memory, but no readable record of the layers
 */
export async function namedLayers(folder: string): Promise<LayerId[] | null> {
  const names = await namesIn(folder)
  const chain = await readChain(folder)
  const checkpoints = [
    ...(names.includes('pages') ? [folder] : []),
    ...((await namesIn(join(folder, 'hibernation'))).length > 0 ? [join(folder, 'hibernation')] : []),
  ]
  if (chain.state === 'unreadable' || (chain.state === 'absent' && names.includes('vm'))) return null
  // A snapshot without its memory: only its record names the layers.
  if (names.includes('snapshot.json') && !names.includes('pages')) return null
  const layers = chain.state === 'present' ? [...chain.record.layers, chain.record.active] : []
  for (const checkpoint of checkpoints) {
    const read = await readRecord(checkpointFiles(checkpoint).manifest, (content) => unsigned.parse(content))
    if (read.state !== 'present') return null
    layers.push(...read.record.checkpoint.layers.map(({ id }) => id))
  }
  return layers
}

async function namesIn(folder: string): Promise<string[]> {
  return readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw error
  })
}
