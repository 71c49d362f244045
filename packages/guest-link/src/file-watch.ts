import { constants } from 'node:os'
import { CHANGE_BYTES, changeTextBytes, decodeChange, type FileChange } from './file-change.ts'
import type { FileOperation } from './file-operation.ts'
import { GuestFileError } from './guest-file-error.ts'

/** A running watch. Iterate {@link changes} once. */
export interface FileWatch {
  /** Ends after {@link close}, or when the folder is removed or moved away. */
  readonly changes: AsyncIterable<FileChange>
  close(): void
}

/** Waits until the watch misses no change. @throws GuestFileError */
export async function startWatch(operation: FileOperation): Promise<FileWatch> {
  if ((await nextChange(operation)) !== 'ready')
    throw new GuestFileError(constants.errno.EIO, 'the watch did not start')
  operation.dropDeadline()
  let isClosed = false
  const close = () => {
    isClosed = true
    operation.cancel()
  }
  return { changes: changesOf(operation, () => isClosed), close }
}

async function nextChange(operation: FileOperation): Promise<FileChange | 'ready' | 'ended'> {
  const fixed = await operation.result(CHANGE_BYTES)
  return decodeChange(fixed, await operation.result(changeTextBytes(fixed)))
}

async function* changesOf(
  operation: FileOperation,
  isClosed: () => boolean,
): AsyncGenerator<FileChange, void, undefined> {
  try {
    for (;;) {
      const change = await nextChange(operation)
      if (change === 'ended') return
      if (change !== 'ready') yield change
    }
  } catch (error) {
    if (!isClosed()) throw error
  } finally {
    operation.cancel()
  }
}
