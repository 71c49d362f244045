/** The files of a guest. Paths are absolute; a string is taken as UTF-8, bytes as they are. */
import { constants } from 'node:os'
import type { Readable } from 'node:stream'
import type { Deadline } from '@offshoot/kit/deadline'
import { CHANGE_BYTES, changeTextBytes, decodeChange, type FileChange } from './file-change.ts'
import { decodeEntry, ENTRY_BYTES, entryTextBytes, type FileEntry } from './file-entry.ts'
import { FileOperation } from './file-operation.ts'
import { GuestFileError } from './guest-file-error.ts'
import { GuestRunError } from './guest-link-error.ts'
import type { GuestProcess } from './guest-process.ts'

export type GuestPath = string | Uint8Array

/** What every operation may be given. All may throw GuestFileError, GuestLinkLost and DeadlineExceeded. */
export interface FileOptions {
  /** Name or number of the account whose rights apply; default root. */
  readonly user?: string | undefined
  /** For every wait up to the result; not for the streams and iterations that are one. */
  readonly deadline?: Deadline | undefined
}

export interface ReadOptions extends FileOptions {
  /** First byte, default 0. Beyond the end: no bytes. */
  readonly offset?: number | undefined
  /** Most bytes; default the rest. */
  readonly length?: number | undefined
}

export interface WriteOptions extends FileOptions {
  /** Default that of the file that is replaced, 0o644 for a new one. */
  readonly mode?: number | undefined
  /** Missing folders above it are made. Default false. */
  readonly parents?: boolean | undefined
}

export interface MoveOptions extends FileOptions {
  /** What stands at the target is replaced. Default false: EEXIST. */
  readonly overwrite?: boolean | undefined
  readonly parents?: boolean | undefined
}

/** A layer of an image. */
export interface GuestLayer {
  /** Block device with the archive, and where on it. */
  readonly source: string
  /** A multiple of 512. */
  readonly offset: number
  readonly bytes: number
  /** Block device that it is to be unpacked onto. */
  readonly disk: string
  readonly hasWhiteouts: boolean
}

export interface LayerUnpacked {
  readonly entries: number
  /** Of the content of files. */
  readonly bytes: number
  /** Device nodes. */
  readonly leftOut: number
}

/** A watch; iterate {@link changes} once. */
export interface FileWatch {
  /** Ends when the folder is removed or moved away, or after {@link close}. */
  readonly changes: AsyncIterable<FileChange>
  close(): void
}

/** Starts one of the guest's own operations. */
export type RunBuiltin = (
  name: string,
  argv: readonly GuestPath[],
  options: { readonly user: string | undefined; readonly deadline: Deadline | undefined },
) => Promise<GuestProcess>

const COUNT_BYTES = 8
const LAYER_RECORD_BYTES = 4 * COUNT_BYTES
const flag = (value: boolean | undefined) => (value === true ? '1' : '0')
const octal = (mode: number | undefined) => (mode === undefined ? '' : mode.toString(8))

export class GuestFiles {
  readonly #runBuiltin: RunBuiltin

  constructor(runBuiltin: RunBuiltin) {
    this.#runBuiltin = runBuiltin
  }

  /**
   * A regular file, following links. The stream has `min(length, size - offset)` bytes, whatever is appended meanwhile;
   * it fails (ESTALE) when the file is cut shorter, and is to be read or destroyed.
   * @throws GuestFileError EISDIR for a folder, EINVAL for a device, FIFO or socket
   */
  async read(
    path: GuestPath,
    options: ReadOptions = {},
  ): Promise<{ readonly stat: FileEntry; readonly stream: Readable }> {
    const { offset = 0, length } = options
    const operation = await this.#start(
      'read',
      [path, String(offset), length === undefined ? '' : String(length)],
      options,
    )
    const stat = decodeEntry(await operation.result(ENTRY_BYTES), Buffer.alloc(0))
    return { stat, stream: operation.content() }
  }

  /**
   * Writes beside and renames: readers see the old content or the new. Follows a link at the path; keeps the owner of
   * what it replaces. A source that fails or is destroyed leaves everything as it was.
   * @returns the number of bytes
   * @throws GuestFileError ENOSPC when the disk is full, EISDIR for a folder, EINVAL for a device; the source's own error
   */
  async write(path: GuestPath, source: Readable, options: WriteOptions = {}): Promise<number> {
    const operation = await this.#start('write', [path, octal(options.mode), flag(options.parents)], options)
    await operation.feed(source)
    return Number((await operation.result(COUNT_BYTES)).readBigUInt64LE())
  }

  /** Of the path itself, also when it is a link. */
  async stat(path: GuestPath, options: FileOptions = {}): Promise<FileEntry> {
    const operation = await this.#start('stat', [path], options)
    const entry = await nextEntry(operation)
    if (entry === undefined) throw new GuestFileError(constants.errno.EIO, 'the guest gave no result')
    return entry
  }

  /** The entries of a folder in no order, as they are read. The first step fails with ENOENT, ENOTDIR, EACCES. */
  async *list(path: GuestPath, options: FileOptions = {}): AsyncGenerator<FileEntry, void, undefined> {
    const operation = await this.#start('list', [path], options)
    try {
      for (let entry = await nextEntry(operation); entry !== undefined; entry = await nextEntry(operation)) {
        operation.endDeadline()
        yield entry
      }
    } finally {
      operation.cancel()
    }
  }

  /**
   * A folder only with `recursive`, else EISDIR. Links are removed, not followed; what is mounted below stays: EBUSY.
   */
  async remove(
    path: GuestPath,
    options: FileOptions & { readonly recursive?: boolean | undefined } = {},
  ): Promise<void> {
    const operation = await this.#start('remove', [path, flag(options.recursive)], options)
    await operation.finish()
  }

  /** @throws GuestFileError EEXIST; with `parents` a folder that is there is as good. */
  async mkdir(path: GuestPath, options: WriteOptions = {}): Promise<void> {
    const operation = await this.#start('mkdir', [path, octal(options.mode), flag(options.parents)], options)
    await operation.finish()
  }

  /** Everything written so far, on every disk of the guest. */
  async sync(options: FileOptions = {}): Promise<void> {
    const operation = await this.#start('sync', ['all'], options)
    await operation.finish()
  }

  /**
   * Makes the file system of a volume as large as its device, which is about to have so many bytes.
   * @returns false where it is not mounted
   * @throws GuestFileError ENOTTY when it is no ext4
   */
  async growVolume(place: number, bytes: number, options: FileOptions = {}): Promise<boolean> {
    const operation = await this.#start('grow', [String(place), String(bytes)], options)
    const [grown] = await operation.result(8)
    await operation.finish()
    return grown === 1
  }

  /** One rename. @throws GuestFileError EEXIST; EXDEV between file systems; ENOTEMPTY over a folder with content */
  async move(from: GuestPath, to: GuestPath, options: MoveOptions = {}): Promise<void> {
    const argv = [from, to, flag(options.overwrite), flag(options.parents)]
    const operation = await this.#start('move', argv, options)
    await operation.finish()
  }

  /**
   * A folder's content as a tar stream (pax): files, folders, links; other kinds are left out, as is what is mounted
   * below. Resolves with the first bytes. A failure in the middle fails the stream.
   */
  async archive(path: GuestPath, options: FileOptions = {}): Promise<Readable> {
    const operation = await this.#start('archive', [path], options)
    return operation.startedContent()
  }

  /**
   * Unpacks a tar stream (ustar, pax, GNU) into a folder that exists, never outside it: EXDEV for a name or a link that
   * leads out. All belongs to the user. A failure leaves what was unpacked before it.
   */
  async unpack(
    path: GuestPath,
    source: Readable,
    options: FileOptions = {},
  ): Promise<{ readonly entries: number; readonly bytes: number }> {
    const operation = await this.#start('unpack', [path], options)
    await operation.feed(source)
    const counts = await operation.result(2 * COUNT_BYTES)
    return { entries: Number(counts.readBigUInt64LE(0)), bytes: Number(counts.readBigUInt64LE(COUNT_BYTES)) }
  }

  /**
   * Puts one layer of an image, a tar archive on a block device, onto another that holds an ext4 file system and is not
   * mounted. A failure leaves what was unpacked before it.
   * @param onProgress hears how many bytes of the archive have been taken, now and then
   * @throws GuestFileError naming the entry: EXDEV for a name that leads out, EBADMSG for what is cut or no archive, ENOSPC,
   *   EPROTONOSUPPORT for a kind of sparse file that is not known
   */
  async layer(layer: GuestLayer, options: FileOptions, onProgress: (bytes: number) => void): Promise<LayerUnpacked> {
    const { source, offset, bytes, disk, hasWhiteouts } = layer
    const argv = [source, String(offset), String(bytes), disk, flag(hasWhiteouts)]
    const operation = await this.#start('layer', argv, options)
    for (;;) {
      const record = await operation.result(LAYER_RECORD_BYTES)
      const [kind, first, content, leftOut] = [0, 8, 16, 24].map((at) => Number(record.readBigUInt64LE(at)))
      if (kind === 0) onProgress(first ?? 0)
      else return { entries: first ?? 0, bytes: content ?? 0, leftOut: leftOut ?? 0 }
    }
  }

  /** Resolves when nothing is missed any more. @throws GuestFileError ENOTDIR; ENOSPC for more than 8192 folders */
  async watch(
    path: GuestPath,
    options: FileOptions & { readonly recursive?: boolean | undefined } = {},
  ): Promise<FileWatch> {
    const operation = await this.#start('watch', [path, flag(options.recursive)], options)
    if ((await nextChange(operation)) !== 'ready') throw new GuestFileError(constants.errno.EIO, 'no watch')
    operation.endDeadline()
    let isClosed = false
    const close = () => {
      isClosed = true
      operation.cancel()
    }
    return { changes: changesOf(operation, () => isClosed), close }
  }

  async #start(name: string, argv: readonly GuestPath[], options: FileOptions): Promise<FileOperation> {
    try {
      const process = await this.#runBuiltin(name, argv, { user: options.user, deadline: options.deadline })
      return new FileOperation(process, options.deadline)
    } catch (error) {
      throw error instanceof GuestRunError ? new GuestFileError(error.errno, error.message) : error
    }
  }
}

async function nextEntry(operation: FileOperation): Promise<FileEntry | undefined> {
  const fixed = await operation.next(ENTRY_BYTES)
  return fixed === undefined ? undefined : decodeEntry(fixed, await operation.result(entryTextBytes(fixed)))
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
