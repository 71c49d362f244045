import { lstat, readdir, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import type { AgentDisk } from '@offshoot/contract/agent-disk'
import type { DataDir } from './data-dir.ts'

const BLOCK_BYTES = 512

/** What an agent's folders take on its disk, and what that has left. Files that several names share count once. */
export async function readDiskUsage(dir: DataDir): Promise<AgentDisk> {
  const { blocks, bavail, bsize } = await statfs(dir.root)
  const seen = new Set<bigint>()
  const of = (folder: string) => usedBytes(folder, seen)
  return {
    total_bytes: blocks * bsize,
    free_bytes: bavail * bsize,
    bakes_bytes: await of(dir.bakes),
    layers_bytes: await of(dir.layers),
    snapshots_bytes: await of(dir.snapshots),
    sandboxes_bytes: await of(dir.sandboxes),
    volumes_bytes: await of(dir.volumes),
    templates_bytes: await of(dir.templates),
    builds_bytes: await of(dir.builds),
  }
}

/**
 * What files take on the disk. Links are not followed: one of the files may lie in a folder that belongs to QEMU's user. A file
 * that is not there takes nothing: a layer may just have been frozen or flattened.
 */
export async function allocatedBytes(paths: readonly string[]): Promise<number> {
  const sizes = paths.map(async (path) => {
    const stats = await lstat(path).catch(() => null)
    return stats?.isFile() === true ? stats.blocks * BLOCK_BYTES : 0
  })
  return (await Promise.all(sizes)).reduce((sum, bytes) => sum + bytes, 0)
}

/** Links are not followed. What goes while we look takes nothing. */
async function usedBytes(path: string, seen: Set<bigint>): Promise<number> {
  const about = await lstat(path, { bigint: true }).catch(() => null)
  if (about === null || seen.has(about.ino)) return 0
  seen.add(about.ino)
  let bytes = Number(about.blocks) * BLOCK_BYTES
  if (about.isDirectory()) {
    const names = await readdir(path).catch((): string[] => [])
    for (const name of names) bytes += await usedBytes(join(path, name), seen)
  }
  return bytes
}
