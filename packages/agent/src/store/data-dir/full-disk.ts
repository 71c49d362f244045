import { statfs } from 'node:fs/promises'

/** Bytes left on a disk below which whatever fails there does so for that. */
const FULL_BYTES = 16 * 1024 * 1024

/**
 * What a failure is where a disk is full: guests are told of an input or output error, whatever its reason, and a machine that
 * gets no page for its memory ends. To be asked before anything is removed.
 * @returns an error with the code ENOSPC; elsewhere the same
 */
export async function explainByDisk(error: unknown, folder: string): Promise<unknown> {
  const { bavail, bsize } = await statfs(folder)
  if (bavail * bsize >= FULL_BYTES) return error
  return Object.assign(new Error('the disk is full', { cause: error }), { code: 'ENOSPC' })
}

/** Whether a full disk is why something failed. QEMU has no code for it, so its words are read too. */
export function isDiskFull(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const { code } = error as NodeJS.ErrnoException
  return code === 'ENOSPC' || code === 'EDQUOT' || /No space left on device|Disk quota exceeded/.test(error.message)
}
