import { open, stat } from 'node:fs/promises'
import type { Offshoot } from '@offshoot/sdk'
import { createTarPacker, packTar } from 'modern-tar'
import type { Cli } from '../frame/cli.ts'
import { contentOf, type Piece, piecesOf } from './local-source.ts'
import { persist } from './persist.ts'
import type { Tally } from './tally.ts'

/** Where to copy to. */
export interface Destination {
  readonly id: string
  readonly user: string | undefined
}

/** Copies from this machine to a sandbox. */
export class Upload {
  readonly #cli: Cli
  readonly #api: Offshoot
  readonly #destination: Destination
  readonly #tally: Tally

  constructor(cli: Cli, api: Offshoot, destination: Destination, tally: Tally) {
    this.#cli = cli
    this.#api = api
    this.#destination = destination
    this.#tally = tally
  }

  /** The content of a folder, in pieces. A broken connection repeats one piece. */
  async folder(from: string, to: string): Promise<void> {
    // An empty folder has no pieces.
    await this.#send(to, await packTar([]))
    for await (const piece of piecesOf(from, this.#tally)) {
      if (piece.kind === 'large') {
        await this.#large(piece, to)
        continue
      }
      await this.#send(to, await packTar([...piece.entries]))
      this.#tally.files += piece.files
      this.#tally.add(piece.bytes)
    }
  }

  /** One file, which gets its name when it has arrived. */
  async file(from: string, to: string): Promise<void> {
    const { mode } = await stat(from)
    await this.#stream(from, async (content) => {
      await this.#api.request('PUT /v1/sandboxes/{id}/fs', {
        ...this.#request(to, { mode: (mode & 0o777).toString(8).padStart(4, '0') }),
        body: content,
      })
    })
  }

  async #send(to: string, archive: Uint8Array<ArrayBuffer>): Promise<void> {
    await persist(this.#cli, async () =>
      this.#api.request('PUT /v1/sandboxes/{id}/fs/archive', { ...this.#request(to), body: archive }),
    )
  }

  async #large({ name, path }: Extract<Piece, { kind: 'large' }>, to: string): Promise<void> {
    await this.#stream(path, async (content, { mode, mtime, size }) => {
      const { readable, controller } = createTarPacker()
      const header = { name, mode: mode & 0o777, mtime, size, type: 'file', uid: 0, gid: 0 } as const
      const packing = content.pipeTo(controller.add(header)).then(() => controller.finalize())
      const sending = this.#api.request('PUT /v1/sandboxes/{id}/fs/archive', { ...this.#request(to), body: readable })
      await Promise.all([sending, packing.catch((error: unknown) => controller.error(error))])
    })
  }

  /** Sends a file that is too large for memory. */
  async #stream(
    path: string,
    send: (content: ReadableStream<Uint8Array>, about: Awaited<ReturnType<typeof stat>> & FileFacts) => Promise<void>,
  ): Promise<void> {
    const file = await open(path)
    try {
      const about = await file.stat()
      const before = this.#tally.bytes
      await persist(this.#cli, async () => {
        this.#tally.add(before - this.#tally.bytes)
        const tally = this.#tally
        const counted = async function* () {
          for await (const chunk of contentOf(file, path, about.size)) {
            yield chunk
            tally.add(chunk.length)
          }
        }
        await send(ReadableStream.from(counted()), about)
      })
      this.#tally.files++
    } finally {
      await file.close()
    }
  }

  #request(path: string, more: { readonly mode?: string } = {}) {
    const { id, user } = this.#destination
    const headers = { 'content-type': 'application/octet-stream' }
    return { path: { id }, query: { path, user, ...more }, headers, signal: this.#cli.signal, timeoutMs: 0 }
  }
}

interface FileFacts {
  readonly mode: number
  readonly mtime: Date
  readonly size: number
}
