import { Readable } from 'node:stream'
import { ApiError } from '@offshoot/contract/errors'
import { listQuery } from '@offshoot/contract/file'
import type { DetailedFileEntry } from '@offshoot/guest-link/file-entry'
import { Deadline } from '@offshoot/kit/deadline'
import type { FastifyInstance } from 'fastify'
import type { Agent } from '../../sandbox/agent.ts'
import { childPath, nameFields, presentEntry } from '../../sandbox/files/present-entry.ts'
import { withGuest } from '../../sandbox/model/guest-access.ts'
import { parseQuery } from '../request/parse-query.ts'
import { findTarget } from './find-target.ts'

/** The agent holds all entries in memory to sort them. The bytes are those of paths, targets and names of owners. */
const MAX_ENTRIES = 100_000
const MAX_BYTES = 64 * 1024 * 1024
const LIST_MS = 60_000
/** Entries serialized at once. Between batches other requests run: a large folder must not block the event loop. */
const BATCH = 500

/** `GET /v1/sandboxes/{id}/fs/dir`: the entries of a folder, sorted by the bytes of their paths. */
export function listFolder(server: FastifyInstance, agent: Agent): void {
  server.get('/v1/sandboxes/:id/fs/dir', async (request, reply) => {
    const { sandbox, path, account } = findTarget(agent, request)
    const { depth } = parseQuery(listQuery, request)
    const deadline = Deadline.after(LIST_MS, `a folder of ${sandbox.id}`)
    const options = { ...account, depth, deadline }
    const entries = await withGuest(sandbox, ({ files }) => deadline.race(collect(files.list(path, options), deadline)))
    entries.sort((a, b) => Buffer.compare(a.name, b.name))
    return reply.type('application/json; charset=utf-8').send(Readable.from(listing(path, entries)))
  })
}

async function collect(listed: AsyncIterable<DetailedFileEntry>, deadline: Deadline): Promise<DetailedFileEntry[]> {
  const entries: DetailedFileEntry[] = []
  let bytes = 0
  for await (const entry of listed) {
    bytes += entry.name.length + (entry.target?.length ?? 0) + (entry.linked?.path?.length ?? 0)
    bytes += (entry.userName?.length ?? 0) + (entry.groupName?.length ?? 0)
    if (entries.length === MAX_ENTRIES) throw tooLarge(`more than ${MAX_ENTRIES} entries`)
    if (bytes > MAX_BYTES) throw tooLarge(`more than ${MAX_BYTES / 1024 ** 2} MiB of names`)
    entries.push(entry)
    deadline.throwIfOver()
  }
  return entries
}

function tooLarge(what: string): ApiError {
  return new ApiError('invalidField', { error: `directory has ${what}` })
}

function* listing(path: Buffer, entries: readonly DetailedFileEntry[]): Generator<string> {
  yield `${JSON.stringify(nameFields('path', path)).slice(0, -1)},"entries":[`
  for (let at = 0; at < entries.length; at += BATCH) {
    const batch = entries.slice(at, at + BATCH)
    const json = batch.map((entry) => JSON.stringify(presentEntry(childPath(path, entry.name), entry))).join(',')
    yield at === 0 ? json : `,${json}`
  }
  yield ']}'
}
