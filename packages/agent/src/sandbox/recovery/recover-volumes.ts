import type { Host } from '../model/host.ts'

/** At the agent's start, after the sandboxes are recovered: deletes unfinished volumes, and owns all files again. */
export async function recoverVolumes({ log, store: { volumes } }: Host): Promise<void> {
  await volumes.settleUnrecorded()
  if (process.getuid?.() !== 0) return
  for (const { id } of volumes.all) {
    // A tool that was killed with its agent may still own the file.
    await volumes
      .takeBack(id)
      .catch((error: unknown) => log.error({ err: error, volume_id: id }, 'the file of a volume is missing'))
  }
}
