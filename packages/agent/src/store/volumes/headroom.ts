import { statfs } from 'node:fs/promises'
import { ApiError } from '@offshoot/contract/errors'

const MIB = 1024 * 1024
/** Free MiB that volumes leave on the host's disk. */
const RESERVE_MIB = 1024
/** Overcommit: volumes may still grow by this multiple of the free space, because they are sparse and few are ever full. */
const OVERCOMMIT = 4

/**
 * Checks that the host's disk has room for a volume, or for the growth of one, by `moreMib`.
 * @param promisedMib MiB by which the existing volumes may still grow on disk
 * @throws ApiError 507
 */
export async function admitVolume(folder: string, promisedMib: number, moreMib: number): Promise<void> {
  const { bavail, bsize } = await statfs(folder)
  const freeMib = (bavail * bsize) / MIB - RESERVE_MIB
  if (freeMib > 0 && promisedMib + moreMib <= freeMib * OVERCOMMIT) return
  throw new ApiError('insufficientStorage')
}
