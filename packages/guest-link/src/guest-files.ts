/** The files of a guest. Paths are absolute. A string is encoded as UTF-8; bytes are passed unchanged. */
import { constants } from 'node:os'
import type { Readable } from 'node:stream'
import type { Deadline } from '@offshoot/kit/deadline'
import { EntryOperation } from './entry-operation.ts'
import {
  decodeEntry,
  detailedEntries,
  ENTRY_BYTES,
  plainEntries,
  type DetailedFileEntry,
  type FileEntry,
} from './file-entry.ts'
import { FileOperation } from './file-operation.ts'
import { startWatch, type FileWatch } from './file-watch.ts'
import { GuestFileError } from './guest-file-error.ts'
import { GuestRunError } from './guest-link-error.ts'
import type { BuiltinUser } from './guest-command.ts'
import type { GuestProcess } from './guest-process.ts'

export type GuestPath = string | Uint8Array

/** Options of every operation. Every operation may throw GuestFileError, GuestLinkLost and DeadlineExceeded. */
export interface FileOptions {
  /**
   * Name or number of the user whose rights apply, and who owns new files. Default: root. An unknown name is a
   * GuestRunError.
   */
  readonly user?: string | undefined
  /**
   * Name or number of the user who owns the files that the operation makes or writes. The operation has root's rights.
   * Replaces `user`. Guests of earlier releases do not know it: there the rights of this user apply.
   */
  readonly owner?: string | undefined
  /** Limits every wait up to the result. It does not limit a stream or an iterator that is the result. */
  readonly deadline?: Deadline | undefined
}

/** Whose rights an operation has, and who owns what it makes. Without both: root. */
export type FileAccount = Pick<FileOptions, 'user' | 'owner'>

export interface ReadOptions extends FileOptions {
  /** Offset of the first byte. Default: 0. Beyond the end there are no bytes. */
  readonly offset?: number | undefined
  /** Maximum number of bytes. Default: up to the end. */
  readonly length?: number | undefined
}

export interface WriteOptions extends FileOptions {
  /** Default: the mode of the replaced file, or 0o644 for a new file. */
  readonly mode?: number | undefined
  /** Makes missing parent folders. Default: false. */
  readonly parents?: boolean | undefined
}

export interface MoveOptions extends FileOptions {
  /** Replaces an existing target. Default: false, which fails with EEXIST. */
  readonly overwrite?: boolean | undefined
  readonly parents?: boolean | undefined
}

/** One layer of an image. */
export interface GuestLayer {
  /** Block device with the archive. */
  readonly source: string
  /** Offset of the archive on {@link source}; a multiple of 512. */
  readonly offset: number
  readonly bytes: number
  /** Block device with the ext4 file system to unpack onto. */
  readonly disk: string
  readonly hasWhiteouts: boolean
}

export interface LayerUnpacked {
  readonly entries: number
  /** Total size of the files. */
  readonly bytes: number
  /** Number of device nodes, which are not made. */
  readonly leftOut: number
}

/** Starts a builtin of the guest. */
export type RunBuiltin = (
  name: string,
  argv: readonly GuestPath[],
  options: BuiltinUser & { readonly deadline: Deadline | undefined },
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
   * Reads a regular file and follows links. The stream has `min(length, size - offset)` bytes, even when the file grows
   * meanwhile. It fails with ESTALE when the file is truncated. The caller must read or destroy it.
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
   * Writes a new file and renames it, so readers see the old content or the new. Follows a link at the path. Keeps the
   * owner of the replaced file. When the source fails or is destroyed, the old file stays.
   * @returns the number of bytes
   * @throws GuestFileError ENOSPC when the disk is full, EISDIR for a folder, EINVAL for a device; the source's own
   *   error
   */
  async write(path: GuestPath, source: Readable, options: WriteOptions = {}): Promise<number> {
    const operation = await this.#start('write', [path, octal(options.mode), flag(options.parents)], options)
    await operation.feed(source)
    return Number((await operation.result(COUNT_BYTES)).readBigUInt64LE())
  }

  /** Describes the path itself; does not follow a link. */
  async stat(path: GuestPath, options: FileOptions = {}): Promise<DetailedFileEntry> {
    const operation = await this.#startEntries('describe', [path], options, { name: 'stat', argv: [path] })
    return operation.one()
  }

  /**
   * Lists a folder, unsorted. With a depth also the content of folders in it, but follows no link. Leaves out entries
   * that are removed meanwhile, and the content of folders that the user may not read. The first step of the iteration
   * fails with ENOENT, ENOTDIR or EACCES, and with ENOSYS if the guest of an earlier release cannot list so deep.
   */
  async *list(
    path: GuestPath,
    options: FileOptions & { readonly depth?: number | undefined } = {},
  ): AsyncGenerator<DetailedFileEntry, void, undefined> {
    const { depth = 1 } = options
    const older = depth === 1 ? { name: 'list', argv: [path] } : undefined
    const operation = await this.#startEntries('walk', [path, String(depth)], options, older)
    yield* operation.all()
  }

  /**
   * Removes a file or, with `recursive`, a folder (else EISDIR). Removes links without following them. Fails with EBUSY
   * at a mount point below, whose content stays.
   */
  async remove(
    path: GuestPath,
    options: FileOptions & { readonly recursive?: boolean | undefined } = {},
  ): Promise<void> {
    const operation = await this.#start('remove', [path, flag(options.recursive)], options)
    await operation.finish()
  }

  /** Makes a folder. @throws GuestFileError EEXIST, except for an existing folder with `parents` */
  async mkdir(path: GuestPath, options: WriteOptions = {}): Promise<void> {
    const operation = await this.#start('mkdir', [path, octal(options.mode), flag(options.parents)], options)
    await operation.finish()
  }

  /** Writes all data of every file system to its disk. */
  async sync(options: FileOptions = {}): Promise<void> {
    const operation = await this.#start('sync', ['all'], options)
    await operation.finish()
  }

  /**
   * Grows the file system of a volume to the size of its device. Waits until the device has `bytes`.
   * @returns false when the volume is not mounted
   * @throws GuestFileError ENOTTY when it is not ext4; ETIMEDOUT when the device stays smaller
   */
  async growVolume(place: number, bytes: number, options: FileOptions = {}): Promise<boolean> {
    const operation = await this.#start('grow', [String(place), String(bytes)], options)
    const [grown] = await operation.result(8)
    await operation.finish()
    return grown === 1
  }

  /**
   * Moves with one rename. @throws GuestFileError EEXIST; EXDEV between file systems; ENOTEMPTY over a folder with
   * content
   */
  async move(from: GuestPath, to: GuestPath, options: MoveOptions = {}): Promise<void> {
    const argv = [from, to, flag(options.overwrite), flag(options.parents)]
    const operation = await this.#start('move', argv, options)
    await operation.finish()
  }

  /**
   * Archives a folder as a tar stream (pax) of files, folders and links. Leaves out other kinds, and file systems
   * mounted below. Resolves with the first bytes. A later failure fails the stream.
   */
  async archive(path: GuestPath, options: FileOptions = {}): Promise<Readable> {
    const operation = await this.#start('archive', [path], options)
    return operation.startedContent()
  }

  /**
   * Unpacks a tar stream (ustar, pax, GNU) into an existing folder, and never outside it: EXDEV for a name or a link
   * that leads outside. The user owns all. After a failure the entries before it stay.
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
   * Unpacks one layer of an image, a tar archive on a block device, onto another device with an ext4 file system that
   * is not mounted. After a failure the entries before it stay.
   * @param onProgress is called from time to time with the number of archive bytes that the guest has read
   * @throws GuestFileError naming the entry: EXDEV for a name that leads outside, EBADMSG for a truncated archive or
   *   none, ENOSPC, EPROTONOSUPPORT for an unknown kind of sparse file
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

  /**
   * Watches a folder. Misses no change after it has resolved. @throws GuestFileError ENOTDIR; ENOSPC over 8192 folders
   */
  async watch(
    path: GuestPath,
    options: FileOptions & { readonly recursive?: boolean | undefined } = {},
  ): Promise<FileWatch> {
    const operation = await this.#start('watch', [path, flag(options.recursive)], options)
    return startWatch(operation)
  }

  /** @param older of guests of earlier releases, which do not know the builtin */
  async #startEntries(
    name: string,
    argv: readonly GuestPath[],
    options: FileOptions,
    older: { readonly name: string; readonly argv: readonly GuestPath[] } | undefined,
  ): Promise<EntryOperation> {
    try {
      return new EntryOperation(await this.#start(name, argv, options), detailedEntries)
    } catch (error) {
      const isUnknown = error instanceof GuestFileError && error.errno === constants.errno.ENOSYS
      if (!isUnknown || older === undefined) throw error
      return new EntryOperation(await this.#start(older.name, older.argv, options), plainEntries)
    }
  }

  async #start(name: string, argv: readonly GuestPath[], options: FileOptions): Promise<FileOperation> {
    const { owner, user = owner, deadline } = options
    const isOwner = owner !== undefined
    try {
      return new FileOperation(await this.#runBuiltin(name, argv, { user, isOwner, deadline }), deadline)
    } catch (error) {
      if (!(error instanceof GuestRunError)) throw error
      const isUnknownOption = isOwner && error.errno === constants.errno.EINVAL
      if (isUnknownOption) return this.#start(name, argv, { user, deadline })
      // A missing file would fail later, in the builtin.
      if (error.errno === constants.errno.ENOENT) throw new GuestRunError(error.errno, `no such user: ${user}`)
      throw new GuestFileError(error.errno, error.message)
    }
  }
}
