import { BadRequestError, type Offshoot } from '@offshoot/sdk'
import { createTarDecoder, type ParsedTarEntry } from 'modern-tar'
import type { Cli } from '../frame/cli.ts'
import { Failure } from '../frame/failure.ts'
import { type About, LocalTarget, type PartFile, safeParts } from './local-target.ts'
import { bodyOf, isBroken, persist } from './persist.ts'
import type { Tally } from './tally.ts'

/** The answer to a range that begins at the end of the file. */
const UNSATISFIABLE = 416

/** What to copy from which sandbox. */
export interface Source {
  readonly id: string
  readonly user: string | undefined
}

/** Copies from a sandbox to a folder on this machine. */
export class Download {
  readonly #cli: Cli
  readonly #api: Offshoot
  readonly #source: Source
  readonly #target: LocalTarget
  readonly #tally: Tally
  /** The beginnings of files whose archives broke off, by path. */
  readonly #unfinished = new Map<string, { readonly part: PartFile; readonly about: About }>()

  constructor(cli: Cli, api: Offshoot, source: Source, root: string, tally: Tally) {
    this.#cli = cli
    this.#api = api
    this.#source = source
    this.#target = new LocalTarget(root, tally)
    this.#tally = tally
  }

  /** The content of a folder. */
  async folder(path: string): Promise<void> {
    try {
      await this.#folder(path, [])
      await this.#target.finish()
    } finally {
      for (const { part } of this.#unfinished.values()) await part.discard()
    }
  }

  /** A file, under a name of the user. A broken connection is continued at the byte where it broke. */
  async file(path: string, name: string, about: About): Promise<void> {
    await this.#file(path, [name], about)
  }

  /**
   * One archive brings the whole folder. If the connection breaks, archives of the folders that have not come yet follow,
   * and single files, so that nothing comes twice.
   */
  async #folder(path: string, parts: readonly string[]): Promise<void> {
    this.#target.last = parts.join('/')
    try {
      await this.#archive(path, parts)
    } catch (error) {
      if (this.#cli.signal.aborted || !isBroken(error)) throw error
      await this.#rest(path, parts, this.#target.last)
    }
  }

  async #archive(path: string, parts: readonly string[]): Promise<void> {
    const response = await persist(this.#cli, async () =>
      this.#api.fetch('GET /v1/sandboxes/{id}/fs/archive', this.#request(path)),
    )
    let broken: Error | null = null
    const chunks = ReadableStream.from(bodyOf(response, (error) => (broken = error)))
    try {
      for await (const entry of chunks.pipeThrough(createTarDecoder({ strict: true }))) await this.#take(entry, parts)
    } catch (error) {
      // The decoder may report a broken connection as an archive that is not whole.
      if (broken !== null) throw broken as Error
      if (error instanceof Failure || (error as NodeJS.ErrnoException).code !== undefined) throw error
      throw new Failure('the sandbox sent something that is no tar archive', { cause: error })
    }
  }

  async #take({ header, body }: ParsedTarEntry, above: readonly string[]): Promise<void> {
    const { name, type, linkname = '' } = header
    const parts = [...above, ...safeParts(name)]
    const about = {
      mode: header.mode ?? 0o644,
      size: header.size,
      mtime: (header.mtime?.getTime() ?? Date.now()) / 1000,
    }
    if (type === 'file' && parts.length > above.length) return this.#write(parts, about, body)
    await body.cancel()
    if (parts.length === above.length) return
    if (name.includes('\uFFFD')) this.#tally.leaveOut(name, 'has a name that is not UTF-8')
    else if (type === 'directory') await this.#target.addFolder(parts, about)
    else if (type === 'symlink') this.#target.addLink(parts, linkname)
    else if (type === 'link') await this.#target.addHardLink(parts, [...above, ...safeParts(linkname)])
    else this.#tally.leaveOut(name, 'is no file, folder or link')
  }

  async #write(parts: readonly string[], about: About, body: ReadableStream<Uint8Array>): Promise<void> {
    const part = await this.#target.begin(parts)
    this.#unfinished.set(parts.join('/'), { part, about })
    for await (const chunk of body) {
      await part.write(chunk)
      this.#tally.add(chunk.length)
    }
    await part.finish(about)
    this.#unfinished.delete(parts.join('/'))
  }

  /** Downloads what is missing of a folder after its archive broke off behind the entry `last`. */
  async #rest(path: string, parts: readonly string[], last: string): Promise<void> {
    const { entries } = await persist(this.#cli, async () =>
      this.#api.request('GET /v1/sandboxes/{id}/fs/dir', this.#request(path)),
    )
    for (const { name, type, mode, size, mtime, target } of entries) {
      const own = [...parts, ...safeParts(name)]
      const key = own.join('/')
      const about = { mode: Number.parseInt(mode, 8), size, mtime }
      const inside = `${path === '/' ? '' : path}/${name}`
      const isKnown = this.#target.has(own)
      if (type === 'dir' && isKnown) {
        // Archives list one folder after the other, so only those around the last entry are incomplete.
        if (last === key || last.startsWith(`${key}/`)) await this.#rest(inside, own, last)
      } else if (isKnown) {
        continue
      } else if (type === 'dir') {
        await this.#target.addFolder(own, about)
        await this.#folder(inside, own)
      } else if (type === 'file') {
        await this.#file(inside, own, about)
      } else if (type === 'symlink') {
        this.#target.addLink(own, target ?? '')
      }
    }
  }

  async #file(path: string, parts: readonly string[], about: About): Promise<void> {
    const part = (await this.#resumed(parts, about)) ?? (await this.#target.begin(parts))
    let tag: string | null = null
    try {
      await persist(this.#cli, async (advanced) => {
        // The service sends all of it again if the file has changed.
        const range =
          part.bytes === 0 ? {} : { range: `bytes=${part.bytes}-`, ...(tag !== null && { 'if-range': tag }) }
        const response = await this.#api.fetch('GET /v1/sandboxes/{id}/fs', { ...this.#request(path), headers: range })
        if (response.status !== 206 && part.bytes > 0) {
          this.#tally.add(-part.bytes)
          await part.clear()
        }
        tag = response.headers.get('etag')
        for await (const chunk of bodyOf(response)) {
          await part.write(chunk)
          this.#tally.add(chunk.length)
          advanced()
        }
      }).catch((error: unknown) => {
        const isComplete = error instanceof BadRequestError && error.status === UNSATISFIABLE && part.bytes > 0
        if (!isComplete) throw error
      })
      await part.finish(about)
    } catch (error) {
      await part.discard()
      throw error
    }
  }

  /** The beginning of the file that the archive brought, unless the file has changed. */
  async #resumed(parts: readonly string[], { size, mtime }: About): Promise<PartFile | null> {
    const key = parts.join('/')
    const unfinished = this.#unfinished.get(key)
    if (unfinished === undefined) return null
    this.#unfinished.delete(key)
    const { part, about } = unfinished
    if (about.size === size && about.mtime === mtime) return part
    await part.discard()
    return null
  }

  #request(path: string) {
    const { id, user } = this.#source
    return { path: { id }, query: { path, user }, signal: this.#cli.signal, timeoutMs: 0 }
  }
}
