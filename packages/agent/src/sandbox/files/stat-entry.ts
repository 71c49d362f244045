import type { FileEntry } from '@offshoot/contract/file'
import { guestDeadline, withGuest } from '../model/guest-access.ts'
import type { Sandbox } from '../model/sandbox.ts'
import { presentEntry } from './present-entry.ts'

/** The file at a path as callers see it. @throws ApiError */
export async function statEntry(sandbox: Sandbox, path: Buffer): Promise<FileEntry> {
  return presentEntry(
    path,
    await withGuest(sandbox, ({ files }) => files.stat(path, { deadline: guestDeadline(`a file of ${sandbox.id}`) })),
  )
}
