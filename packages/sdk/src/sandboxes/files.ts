import { ApiError, NotFoundError, OffshootError } from '../http/errors.ts'
import type { ArchiveUnpacked, FileEntry, FileWritten } from '../generated/models.ts'
import { fromWire } from '../http/rename.ts'
import { resumed } from '../http/resumed.ts'
import { type Answer, Opened, type Route } from '../http/routes.ts'
import type { Scope } from '../http/scope.ts'
import type { ServerEvent } from '../http/server-events.ts'
import { broken, type CallOptions } from '../http/transport.ts'

/** What can be written: a text is encoded as UTF-8. A stream cannot be sent again, so it is not retried. */
export type FileContent = string | Uint8Array<ArrayBuffer> | ArrayBuffer | Blob | ReadableStream<Uint8Array>

export interface FileOptions extends Omit<CallOptions, 'idempotencyKey'> {
  /** Name or numeric id of the user whose rights apply. Default: `root`. */
  readonly user?: string | undefined
  /** The user who owns what the call makes. The call itself has the rights of `root`. Not together with `user`. */
  readonly owner?: string | undefined
}

export interface ReadOptions extends FileOptions {
  /** First byte. At or after the end of the file, nothing is read. Default: 0. */
  readonly offset?: number | undefined
  /** Maximum bytes. Default: all. */
  readonly length?: number | undefined
}

/** A change below a watched folder. `overflow`: changes were lost, so list the folder again. */
export type FileChange =
  | { readonly type: 'created' | 'modified' | 'deleted'; readonly path: string; readonly isDir: boolean }
  | { readonly type: 'moved'; readonly path: string; readonly to: string; readonly isDir: boolean }
  | { readonly type: 'overflow' }

/** The files of a sandbox. Paths are absolute. */
export class Files {
  readonly #scope: Scope

  /** @internal */
  constructor(scope: Scope) {
    this.#scope = scope
  }

  /** The content of a file as text. */
  async read(path: string, options: ReadOptions = {}): Promise<string> {
    const response = await this.#open('GET /v1/sandboxes/{id}/fs', path, options)
    return broken(response.text(), options.signal, `reading ${path}`)
  }

  /** The content of a file as bytes. */
  async readBytes(path: string, options: ReadOptions = {}): Promise<Uint8Array<ArrayBuffer>> {
    const response = await this.#open('GET /v1/sandboxes/{id}/fs', path, options)
    return new Uint8Array(await broken(response.arrayBuffer(), options.signal, `reading ${path}`))
  }

  /** The content of a file as a stream. Cancel it if you do not read it to its end. */
  async readStream(path: string, options: ReadOptions = {}): Promise<ReadableStream<Uint8Array>> {
    return streamOf(await this.#open('GET /v1/sandboxes/{id}/fs', path, options))
  }

  async #open(route: Route, path: string, { offset, length, ...options }: ReadOptions): Promise<Response> {
    const { call, query } = this.#split(path, options)
    const hasRange = offset !== undefined || length !== undefined
    const from = offset ?? 0
    const range = `bytes=${from}-${length === undefined ? '' : from + length - 1}`
    try {
      return await this.#scope.transport.send(
        this.#scope.request(route, { ...call, query, ...(hasRange && { headers: { range } }) }),
      )
    } catch (error) {
      // The range begins at or after the end of the file.
      if (hasRange && error instanceof ApiError && error.status === 416) return new Response()
      throw error
    }
  }

  /** Writes a file, and the folders that it needs. Readers see the old or the new content, nothing between. */
  async write(
    path: string,
    content: FileContent,
    options: FileOptions & { readonly mode?: string } = {},
  ): Promise<FileWritten> {
    return this.#put('PUT /v1/sandboxes/{id}/fs', path, content, options)
  }

  async #put<R extends Route>(
    route: R,
    path: string,
    content: FileContent,
    { mode, ...options }: FileOptions & { readonly mode?: string },
  ): Promise<Answer<R>> {
    const { call, query } = this.#split(path, options)
    return this.#scope.call(route, {
      ...call,
      query: { ...query, mode },
      body: content,
      headers: { 'content-type': 'application/octet-stream' },
    })
  }

  /** The entries of a folder. `depth` 2 also lists the folders in it, and so on up to 100. Default: 1. */
  async list(path: string, options: FileOptions & { readonly depth?: number } = {}): Promise<FileEntry[]> {
    const { entries } = await this.#ask('GET /v1/sandboxes/{id}/fs/dir', path, options)
    return entries
  }

  /** Describes a file or folder. @throws NotFoundError */
  async stat(path: string, options: FileOptions = {}): Promise<FileEntry> {
    return this.#ask('GET /v1/sandboxes/{id}/fs/stat', path, options)
  }

  /** Whether something has this path. */
  async exists(path: string, options: FileOptions = {}): Promise<boolean> {
    try {
      await this.stat(path, options)
      return true
    } catch (error) {
      if (isNoFile(error)) return false
      throw error
    }
  }

  /** Makes a folder and, unless `parents` is false, the folders above it. */
  async mkdir(
    path: string,
    options: FileOptions & { readonly mode?: string; readonly parents?: boolean } = {},
  ): Promise<FileEntry> {
    return this.#ask('POST /v1/sandboxes/{id}/fs/mkdir', path, { parents: true, ...options })
  }

  /** Renames. @throws ConflictError if `to` exists, unless `overwrite` */
  async move(
    path: string,
    to: string,
    options: FileOptions & { readonly overwrite?: boolean; readonly parents?: boolean } = {},
  ): Promise<FileEntry> {
    return this.#ask('POST /v1/sandboxes/{id}/fs/move', path, { ...options, to } as FileOptions)
  }

  /** Deletes a file, or with `recursive` a folder. */
  async remove(path: string, options: FileOptions & { readonly recursive?: boolean } = {}): Promise<void> {
    await this.#ask('DELETE /v1/sandboxes/{id}/fs', path, options)
  }

  /** A folder as a tar archive. Cancel the stream if you do not read it to its end. */
  async download(path: string, options: FileOptions = {}): Promise<ReadableStream<Uint8Array>> {
    return streamOf(await this.#open('GET /v1/sandboxes/{id}/fs/archive', path, options))
  }

  /** Unpacks a tar archive, which may be compressed, into a folder. */
  async upload(path: string, archive: FileContent, options: FileOptions = {}): Promise<ArchiveUnpacked> {
    return this.#put('PUT /v1/sandboxes/{id}/fs/archive', path, archive, options)
  }

  /**
   * Yields the changes in a folder, until the sandbox is deleted. No change after the first step of the loop is missed
   * without an `overflow`. That one is also yielded after a broken connection, as soon as the folder is watched again.
   * @throws OffshootError if the folder or the VM is gone; ConnectionError if the watch cannot be continued
   */
  async *watch(
    path: string,
    options: FileOptions & { readonly recursive?: boolean } = {},
  ): AsyncGenerator<FileChange, void, undefined> {
    const { call, query } = this.#split(path, options)
    const { transport } = this.#scope
    const request = this.#scope.request('GET /v1/sandboxes/{id}/fs/watch', { ...call, query })
    let isFirst = true
    for await (const frame of resumed(transport, () => request, { isEnd: isNoSandbox })) {
      if (frame instanceof Opened) {
        // Not before: a list that the caller makes then would miss what happens until the new watch begins.
        if (!isFirst) yield { type: 'overflow' }
        isFirst = false
      } else if (frame !== 'closed') yield changeOf(frame)
    }
  }

  #split(path: string, options: FileOptions) {
    const { signal, timeoutMs, maxRetries, ...query } = options
    return {
      call: { signal, timeoutMs, maxRetries },
      query: { path, ...(query as Record<string, string | undefined>) },
    }
  }

  async #ask<R extends Route>(route: R, path: string, options: FileOptions): Promise<Answer<R>> {
    const { call, query } = this.#split(path, options)
    return this.#scope.call(route, { ...call, query })
  }
}

function isNoSandbox(error: unknown): boolean {
  return error instanceof NotFoundError && !isNoFile(error)
}

/** A refusal that is about the path, not about the sandbox. */
function isNoFile(error: unknown): boolean {
  return error instanceof NotFoundError && error.body.error === 'no such file or directory'
}

function changeOf({ event, data }: ServerEvent): FileChange {
  const fields = fromWire<Record<string, unknown>>(JSON.parse(data))
  if (event === 'error') throw new OffshootError(String(fields['error']))
  return { type: event, ...fields } as FileChange
}

function streamOf({ body }: Response): ReadableStream<Uint8Array> {
  return body ?? new ReadableStream({ start: (empty) => empty.close() })
}
