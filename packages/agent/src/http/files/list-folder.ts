import { Readable } from 'node:stream'
import { ApiError } from '@offshoot/contract/errors'
import { listQuery } from '@offshoot/contract/file'
import type { FileEntry } from '@offshoot/guest-link/file-entry'
import { GuestFileError } from '@offshoot/guest-link/guest-file-error'
import type { GuestFiles } from '@offshoot/guest-link/guest-files'
import { Deadline } from '@offshoot/kit/deadline'
import { Semaphore } from '@offshoot/kit/semaphore'
import type { FastifyInstance } from 'fastify'
import type { Agent } from '../../sandbox/agent.ts'
import { type OwnerNames, ownerNames } from '../../sandbox/files/owner-names.ts'
import { childPath, nameFields, presentEntry } from '../../sandbox/files/present-entry.ts'
import { withGuest } from '../../sandbox/model/guest-access.ts'
import { parseQuery } from '../request/parse-query.ts'
import { findTarget } from './find-target.ts'

/** The agent holds all entries in memory to sort them. */
const MAX_ENTRIES = 100_000
const LIST_MS = 60_000
/** Entries serialized at once. Between batches other requests run: a large folder must not block the event loop. */
const BATCH = 500

/** Folders that are listed at the same time below the first one. */
const CONCURRENT = 4

/** Errors of a folder below the first one that leave it out of the listing. */
const PASSED_OVER: ReadonlySet<string> = new Set(['ENOENT', 'ENOTDIR', 'EACCES'])

interface Listed {
  readonly path: Buffer
  readonly entry: FileEntry
  /** Entries of this folder, if the listing goes that deep. */
  below: readonly Listed[]
}

/** `GET /v1/sandboxes/{id}/fs/dir`: the entries of a folder, and of the folders below it down to a depth. */
export function listFolder(server: FastifyInstance, agent: Agent): void {
  server.get('/v1/sandboxes/:id/fs/dir', async (request, reply) => {
    const { sandbox, path, user } = findTarget(agent, request)
    const { depth } = parseQuery(listQuery, request)
    const deadline = Deadline.after(LIST_MS, `a folder of ${sandbox.id}`)
    const { entries, names } = await withGuest(sandbox, async ({ files }) => {
      const walk = new Walk(files, user, deadline)
      const listed = inOrder(await deadline.race(walk.list(path, depth)))
      const owners = await ownerNames(
        sandbox,
        files,
        listed.map(({ entry }) => entry),
        deadline,
      )
      return { entries: listed, names: owners }
    })
    return reply.type('application/json; charset=utf-8').send(Readable.from(listing(path, entries, names)))
  })
}

class Walk {
  readonly #files: GuestFiles
  readonly #user: string | undefined
  readonly #deadline: Deadline
  readonly #turns = new Semaphore(CONCURRENT, MAX_ENTRIES)
  #entries = 0

  constructor(files: GuestFiles, user: string | undefined, deadline: Deadline) {
    this.#files = files
    this.#user = user
    this.#deadline = deadline
  }

  /** Sorted by the bytes of their names. Does not follow links. */
  async list(path: Buffer, depth: number): Promise<readonly Listed[]> {
    const listed = await this.#turns.run(() => this.#entriesOf(path))
    if (depth === 1) return listed
    const folders = listed.filter(({ entry }) => entry.type === 'dir')
    await Promise.all(folders.map(async (folder) => (folder.below = await this.#listBelow(folder.path, depth - 1))))
    return listed
  }

  /** A folder that has gone, or that the user may not read, has no entries. */
  async #listBelow(path: Buffer, depth: number): Promise<readonly Listed[]> {
    try {
      return await this.list(path, depth)
    } catch (error) {
      if (error instanceof GuestFileError && PASSED_OVER.has(error.code)) return []
      throw error
    }
  }

  async #entriesOf(path: Buffer): Promise<Listed[]> {
    const listed: Listed[] = []
    for await (const entry of this.#files.list(path, { user: this.#user, deadline: this.#deadline })) {
      this.#entries += 1
      if (this.#entries > MAX_ENTRIES) {
        throw new ApiError('invalidField', { error: `directory has more than ${MAX_ENTRIES} entries` })
      }
      listed.push({ path: childPath(path, entry.name), entry, below: [] })
      this.#deadline.throwIfOver()
    }
    return listed.sort((a, b) => Buffer.compare(a.entry.name, b.entry.name))
  }
}

/** The entries of a folder follow it. */
function inOrder(listed: readonly Listed[]): Listed[] {
  return listed.flatMap((each) => (each.below.length === 0 ? [each] : [each, ...inOrder(each.below)]))
}

function* listing(path: Buffer, listed: readonly Listed[], names: OwnerNames): Generator<string> {
  yield `${JSON.stringify(nameFields('path', path)).slice(0, -1)},"entries":[`
  for (let at = 0; at < listed.length; at += BATCH) {
    const batch = listed.slice(at, at + BATCH)
    const json = batch.map((each) => JSON.stringify(presentEntry(each.path, each.entry, names))).join(',')
    yield at === 0 ? json : `,${json}`
  }
  yield ']}'
}
