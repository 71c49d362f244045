import { open, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { syncFolder } from '@offshoot/kit/sync-folder'
import { SetupFailure } from '../base/setup-failure.ts'

export interface NewFile {
  /** A path that must not exist, or a folder, which gets a file named after the time. */
  readonly target: string
  readonly prefix: string
  readonly extension: string
  readonly at: Date
}

/**
 * Writes a file that only its owner can read. It has its name only when it is complete.
 * @returns its path
 * @throws {SetupFailure}
 */
export async function writeNewFile(
  named: NewFile,
  content: () => AsyncIterable<Uint8Array>,
  stop: AbortSignal,
): Promise<string> {
  const path = await pathOf(named)
  const partial = join(dirname(path), `.${basename(path)}.${process.pid}.partial`)
  try {
    await write(partial, content, stop)
    await rename(partial, path)
    await syncFolder(dirname(path))
    return path
  } finally {
    await rm(partial, { force: true })
  }
}

async function pathOf({ target, prefix, extension, at }: NewFile): Promise<string> {
  const found = await stat(target).catch(() => null)
  if (found === null) return target
  if (!found.isDirectory()) throw new SetupFailure(`${target} exists already, and is not replaced.`)
  return join(target, `${prefix}-${at.toISOString().replace(/[-:]|\.\d+/g, '')}.${extension}`)
}

async function write(path: string, content: () => AsyncIterable<Uint8Array>, stop: AbortSignal): Promise<void> {
  const refuse = (error: NodeJS.ErrnoException): never => {
    throw new SetupFailure(`Nothing can be written to ${dirname(path)} (${error.code}).`, { cause: error })
  }
  const file = await open(path, 'wx', 0o600).catch(refuse)
  try {
    for await (const chunk of content()) {
      stop.throwIfAborted()
      await file.writeFile(chunk).catch(refuse)
    }
    await file.sync().catch(refuse)
  } finally {
    await file.close()
  }
}
