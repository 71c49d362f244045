import { addAbortSignal, type Readable } from 'node:stream'
import { ApiError } from '@offshoot/contract/errors'
import type { FileEntry } from '@offshoot/guest-link/file-entry'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Agent } from '../../sandbox/agent.ts'
import { parseByteRange } from './parse-byte-range.ts'
import { guestDeadline, withGuest } from '../../sandbox/model/guest-access.ts'
import { findTarget, type FileTarget } from './find-target.ts'

interface Part {
  readonly offset?: number
  /** Bytes; absent: to the end of the file. */
  readonly length?: number
}

/** `GET` and `HEAD /v1/sandboxes/{id}/fs`: a file, or a range of it. */
export function readFile(server: FastifyInstance, agent: Agent): void {
  server.route({
    method: ['GET', 'HEAD'],
    url: '/v1/sandboxes/:id/fs',
    handler: async (request, reply) => {
      const answer = new FileAnswer(findTarget(agent, request), reply, agent.stopping)
      return request.method === 'HEAD' ? answer.head() : answer.get(request)
    },
  })
}

class FileAnswer {
  readonly #target: FileTarget
  readonly #reply: FastifyReply
  readonly #stopping: AbortSignal

  constructor(target: FileTarget, reply: FastifyReply, stopping: AbortSignal) {
    this.#target = target
    this.#reply = reply
    this.#stopping = stopping
  }

  async head(): Promise<FastifyReply> {
    const stat = await this.#examine()
    return this.#describe(stat, stat.size).send()
  }

  async get({ headers }: FastifyRequest): Promise<FastifyReply> {
    const { range, 'if-range': ifRange, 'if-none-match': ifNoneMatch } = headers
    if (range === undefined && ifNoneMatch === undefined) return this.#whole()
    const stat = await this.#examine()
    const tag = formatEntityTag(stat)
    if (ifNoneMatch !== undefined && listsTag(ifNoneMatch, tag)) return this.#reply.header('etag', tag).code(304).send()
    if (!stat.isSizeKnown || (ifRange !== undefined && ifRange !== tag)) return this.#whole()
    const part = parseByteRange(range, stat.size)
    if (part === null) return this.#whole()
    if (part !== 'unsatisfiable') return this.#part(part, tag)
    void this.#reply.header('content-range', `bytes */${stat.size}`)
    throw new ApiError('rangeNotSatisfiable')
  }

  async #whole(): Promise<FastifyReply> {
    const { stat, stream } = await this.#open({})
    return this.#describe(stat, stat.size).send(stream)
  }

  /** If the file changed since `get` read its tag, sends the whole file: a part would mix two versions. */
  async #part(part: { readonly offset: number; readonly length: number }, tag: string): Promise<FastifyReply> {
    const { stat, stream } = await this.#open(part)
    if (formatEntityTag(stat) !== tag) {
      stream.destroy()
      return this.#whole()
    }
    const last = part.offset + part.length - 1
    void this.#reply.code(206).header('content-range', `bytes ${part.offset}-${last}/${stat.size}`)
    return this.#describe(stat, part.length).send(stream)
  }

  /** Opens the file instead of calling stat: a read, too, follows links and fails for an unreadable file. */
  async #examine(): Promise<FileEntry> {
    const { stat, stream } = await this.#open({ length: 0 })
    stream.destroy()
    return stat
  }

  async #open(part: Part): Promise<{ readonly stat: FileEntry; readonly stream: Readable }> {
    const { sandbox, path, account } = this.#target
    const { stat, stream } = await withGuest(sandbox, ({ files }) =>
      files.read(path, { ...part, ...account, deadline: guestDeadline(`a file of ${sandbox.id}`) }),
    )
    return { stat, stream: addAbortSignal(this.#stopping, stream) }
  }

  #describe(stat: FileEntry, length: number): FastifyReply {
    const { mtimeMs, isSizeKnown } = stat
    void this.#reply.type('application/octet-stream').header('last-modified', new Date(mtimeMs).toUTCString())
    if (!isSizeKnown) return this.#reply
    return this.#reply
      .header('content-length', length)
      .header('accept-ranges', 'bytes')
      .header('etag', formatEntityTag(stat))
  }
}

/** Built from modification time and size, like the entity tags of common web servers. */
function formatEntityTag({ mtimeMs, size }: FileEntry): string {
  return `"${Math.round(mtimeMs * 1000).toString(16)}-${size.toString(16)}"`
}

/** Whether `If-None-Match` lists this tag, by weak comparison (RFC 9110, 8.8.3.2). */
function listsTag(header: string, tag: string): boolean {
  const tags = new Set(header.split(',').map((each) => each.trim().replace(/^W\//, '')))
  return tags.has('*') || tags.has(tag)
}
