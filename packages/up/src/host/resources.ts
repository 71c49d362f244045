import { readFile, statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import { SetupFailure } from '../base/setup-failure.ts'

const GIB = 1024 ** 3
const MIB = 1024 ** 2

export interface Needs {
  readonly diskBytes: number
  readonly memoryBytes: number
}

/**
 * Needed to build images: two copies of the Debian image during its build, its bake, and a bake's VM beside a compiler.
 */
export const SETUP_NEEDS: Needs = { diskBytes: 4 * GIB, memoryBytes: 1.5 * GIB }
/** Needed to start: VMs that still run already have their memory. */
export const START_NEEDS: Needs = { diskBytes: 0.5 * GIB, memoryBytes: 256 * MIB }

/** @param folders may be missing @throws {SetupFailure} if disk space or memory is insufficient */
export async function checkResources(folders: readonly string[], needs: Needs): Promise<void> {
  for (const folder of folders) {
    const freeBytes = await freeDiskBytes(folder)
    if (freeBytes < needs.diskBytes)
      throw new SetupFailure(
        `There is too little disk space: ${inGib(freeBytes)} GiB are free at ${folder}, ${inGib(needs.diskBytes)} GiB are needed.`,
      )
  }
  const availableBytes = availableMemoryBytes(await readFile('/proc/meminfo', 'utf8'))
  if (availableBytes < needs.memoryBytes)
    throw new SetupFailure(
      `There is too little memory: ${inGib(availableBytes)} GiB are available, ${inGib(needs.memoryBytes)} GiB are needed.`,
    )
}

/** @param folder may be missing */
export async function freeDiskBytes(folder: string): Promise<number> {
  try {
    const { bavail, bsize } = await statfs(folder)
    return bavail * bsize
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || dirname(folder) === folder) throw error
    return freeDiskBytes(dirname(folder))
  }
}

/** @param meminfo text of /proc/meminfo */
export function availableMemoryBytes(meminfo: string): number {
  const kib = /^MemAvailable:\s+(\d+) kB$/m.exec(meminfo)?.[1]
  if (kib === undefined) throw new Error('/proc/meminfo does not tell MemAvailable')
  return Number(kib) * 1024
}

export function inGib(bytes: number): string {
  return (bytes / GIB).toFixed(1)
}
