import { statfs } from 'node:fs/promises'
import { ApiError } from '@offshoot/contract/errors'

const MIB = 1024 * 1024
/** MiB of the host's disk that volumes never take. */
const RESERVE_MIB = 1024
/** Volumes are sparse, and few are ever full: so many times what is free may be promised. */
const OVERCOMMIT = 4

/**
 * Whether the host has room to promise so many more MiB.
 * @param promisedMib what volumes may still come to take, beyond what they take now
 * @throws ApiError 507
 */
export async function admitVolume(folder: string, promisedMib: number, moreMib: number): Promise<void> {
  const { bavail, bsize } = await statfs(folder)
  const freeMib = (bavail * bsize) / MIB - RESERVE_MIB
  if (freeMib > 0 && promisedMib + moreMib <= freeMib * OVERCOMMIT) return
  throw new ApiError('insufficientStorage')
}
