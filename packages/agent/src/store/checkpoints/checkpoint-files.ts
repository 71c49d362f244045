import { mkdir, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** One layer of a guest's memory. */
export interface MemoryFiles {
  /** The pages that differ from the layer below, one after the other. */
  readonly pages: string
  /** The numbers of these pages in the guest (`page-runs.ts`). */
  readonly runs: string
}

/** The files of one checkpoint, which never change. All belong to root; QEMU gets descriptors. */
export interface CheckpointFiles extends MemoryFiles {
  /** The state of the devices. */
  readonly state: string
  /** Written last: a folder without it is no checkpoint. */
  readonly manifest: string
}

export function checkpointFiles(folder: string): CheckpointFiles {
  return {
    pages: join(folder, 'pages'),
    runs: join(folder, 'runs'),
    state: join(folder, 'state'),
    manifest: join(folder, 'checkpoint.json'),
  }
}

/** Creates the empty files of a checkpoint's memory, for a QEMU that is started before the capture writes them. */
export async function createMemoryFiles(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const { pages, runs } = checkpointFiles(folder)
  for (const path of [pages, runs]) await writeFile(path, '', { flag: 'wx', mode: 0o400 })
}

/** The time at which a checkpoint was sealed, in milliseconds; `null` if it is unknown. */
export async function sealedAtMs(folder: string): Promise<number | null> {
  return stat(checkpointFiles(folder).manifest).then(
    ({ mtimeMs }) => mtimeMs,
    () => null,
  )
}

/**
 * The layers of a checkpoint's memory, the lowest first: its bases, which are files of earlier checkpoints, and its own
 * layer.
 * @param bases the number of bases
 */
export function memoryFiles(folder: string, bases: number): MemoryFiles[] {
  const base = (index: number) => ({
    pages: join(folder, `base-${index}.pages`),
    runs: join(folder, `base-${index}.runs`),
  })
  const { pages, runs } = checkpointFiles(folder)
  return [...Array.from({ length: bases }, (_, index) => base(index)), { pages, runs }]
}
