import { openSync } from 'node:fs'
import { join } from 'node:path'
import { readBakeManifest } from '../store/bakes/bake-manifest.ts'
import { readBuildRecord } from '../store/builds/build-record.ts'
import { readChain } from '../store/disks/chain-file.ts'
import type { RecordRead } from '../store/ledger/read-record.ts'
import { readManifest } from '../store/sandboxes/manifest.ts'
import { readSnapshotRecord } from '../store/snapshots/snapshot-record.ts'
import { readTemplateRecord } from '../store/templates/template-record.ts'
import { readVolumeRecord } from '../store/volumes/volume-record.ts'

type Reader = (folder: string) => RecordRead<unknown> | Promise<RecordRead<unknown>>

/** Of each record that a folder of an object has: its file, and what reads it. */
export const RECORD_READERS: Readonly<Record<string, Reader>> = {
  'manifest.json': readManifest,
  'chain.json': readChain,
  'snapshot.json': readSnapshotRecord,
  'volume.json': readVolumeRecord,
  'template.json': readTemplateRecord,
  'build.json': readBuildRecord,
  'bake.json': (folder) => readBakeManifest(join(folder, 'bake.json')),
}

/** Reads every record in a process that has no descriptor left. @param folder has one folder for each record, named as its file */
export async function readAllWithoutDescriptors(
  folder: string,
): Promise<{ file: string; state: string; code: string | undefined }[]> {
  useUp()
  const read = []
  for (const [file, reader] of Object.entries(RECORD_READERS)) {
    const result = await reader(join(folder, file))
    const code = result.state === 'unreadable' ? (result.error as NodeJS.ErrnoException).code : undefined
    read.push({ file, state: result.state, code })
  }
  return read
}

function useUp(): void {
  for (;;) {
    try {
      openSync('/dev/null', 'r')
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EMFILE') return
      throw error
    }
  }
}
