import { Readable } from 'node:stream'
import { ApiError } from '@offshoot/contract/errors'
import type { FileEntry } from '@offshoot/guest-link/file-entry'
import type { GuestFiles } from '@offshoot/guest-link/guest-files'
import { Deadline } from '@offshoot/kit/deadline'
import type { FastifyInstance } from 'fastify'
import type { Agent } from '../../sandbox/agent.ts'
import { childPath, nameFields, presentEntry } from '../../sandbox/files/present-entry.ts'
import { withGuest } from '../../sandbox/model/guest-access.ts'
import { findTarget } from './find-target.ts'

/** The agent holds all entries in memory to sort them. */
const MAX_ENTRIES = 100_000
const LIST_MS = 60_000
/** Entries serialized at once. Between batches other requests run: a large folder must not block the event loop. */
const BATCH = 500

/** `GET /v1/sandboxes/{id}/fs/dir`: the entries of a folder, sorted by the bytes of their names. */
export function listFolder(server: FastifyInstance, agent: Agent): void {
  server.get('/v1/sandboxes/:id/fs/dir', async (request, reply) => {
    const { sandbox, path } = findTarget(agent, request)
    const deadline = Deadline.after(LIST_MS, `a folder of ${sandbox.id}`)
    const entries = await withGuest(sandbox, ({ files }) => deadline.race(collect(files, path, deadline)))
    entries.sort((a, b) => Buffer.compare(a.name, b.name))
    return reply.type('application/json; charset=utf-8').send(Readable.from(listing(path, entries)))
  })
}

async function collect(files: GuestFiles, path: Buffer, deadline: Deadline): Promise<FileEntry[]> {
  const entries: FileEntry[] = []
  for await (const entry of files.list(path, { deadline })) {
    if (entries.length === MAX_ENTRIES) {
      throw new ApiError('invalidField', { error: `directory has more than ${MAX_ENTRIES} entries` })
    }
    entries.push(entry)
    deadline.throwIfOver()
  }
  return entries
}

function* listing(path: Buffer, entries: readonly FileEntry[]): Generator<string> {
  yield `${JSON.stringify(nameFields('path', path)).slice(0, -1)},"entries":[`
  for (let at = 0; at < entries.length; at += BATCH) {
    const batch = entries.slice(at, at + BATCH)
    const json = batch.map((entry) => JSON.stringify(presentEntry(childPath(path, entry.name), entry))).join(',')
    yield at === 0 ? json : `,${json}`
  }
  yield ']}'
}
