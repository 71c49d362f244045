import {
  type FileEntry,
  type FileWritten,
  mkdirQuery,
  moveQuery,
  recursiveQuery,
  writeQuery,
} from '@offshoot/contract/file'
import { Deadline } from '@offshoot/kit/deadline'
import { drainRequest } from '@offshoot/kit/drain-request'
import type { FastifyInstance } from 'fastify'
import type { Agent } from '../../sandbox/agent.ts'
import { nameFields, statEntry } from '../../sandbox/files/present-entry.ts'
import { guestDeadline, withGuest } from '../../sandbox/model/guest-access.ts'
import { parseQuery } from '../request/parse-query.ts'
import { findTarget } from './find-target.ts'
import { listFolder } from './list-folder.ts'
import { parseQueryPath } from './parse-query-path.ts'
import { readFile } from './read-file.ts'
import { UploadBody } from './receive-upload.ts'
import { transferArchive } from './transfer-archive.ts'
import { watchFiles } from './watch-files.ts'

/** Milliseconds for a recursive delete. */
const REMOVE_MS = 300_000

/** `/v1/sandboxes/{id}/fs…`, in a Fastify scope of its own, in which bodies stay streams instead of being parsed. */
export function fileRoutes(server: FastifyInstance, agent: Agent): void {
  void server.register(async (scope) => {
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser('*', (_request, _payload, done) => done(null))
    // Control reuses the connection: the unread rest of a refused upload must not precede its next request.
    scope.addHook('onResponse', async ({ raw }) => drainRequest(raw))
    for (const route of [
      readFile,
      writeFile,
      removeFile,
      listFolder,
      statFile,
      makeFolder,
      moveFile,
      transferArchive,
      watchFiles,
    ]) {
      route(scope, agent)
    }
  })
}

/** `PUT /v1/sandboxes/{id}/fs`: the body becomes the file. Its content type is ignored. */
function writeFile(server: FastifyInstance, agent: Agent): void {
  server.put('/v1/sandboxes/:id/fs', async (request): Promise<FileWritten> => {
    const { sandbox, path, account } = findTarget(agent, request)
    const { mode } = parseQuery(writeQuery, request)
    const body = UploadBody.of(request, agent.maxUploadBytes, agent.stopping)
    try {
      const options = { mode, parents: true, ...account, deadline: body.deadline }
      const bytes = await withGuest(sandbox, ({ files }) => files.write(path, body, options))
      return { ...nameFields('path', path), bytes }
    } finally {
      body.close()
    }
  })
}

/** `DELETE /v1/sandboxes/{id}/fs`. */
function removeFile(server: FastifyInstance, agent: Agent): void {
  server.delete('/v1/sandboxes/:id/fs', async (request, reply) => {
    const { sandbox, path, account } = findTarget(agent, request)
    const { recursive } = parseQuery(recursiveQuery, request)
    const deadline = Deadline.after(REMOVE_MS, `removal in ${sandbox.id}`)
    await withGuest(sandbox, ({ files }) => files.remove(path, { recursive, ...account, deadline }))
    return reply.code(204).send()
  })
}

/** `GET /v1/sandboxes/{id}/fs/stat`: of the path itself; symbolic links are not followed. */
function statFile(server: FastifyInstance, agent: Agent): void {
  server.get('/v1/sandboxes/:id/fs/stat', async (request): Promise<FileEntry> => {
    return statEntry(findTarget(agent, request))
  })
}

/** `POST /v1/sandboxes/{id}/fs/mkdir`: 201 with the folder. */
function makeFolder(server: FastifyInstance, agent: Agent): void {
  server.post('/v1/sandboxes/:id/fs/mkdir', async (request, reply): Promise<FileEntry> => {
    const { sandbox, path, account } = findTarget(agent, request)
    const { mode, parents } = parseQuery(mkdirQuery, request)
    await withGuest(sandbox, ({ files }) =>
      files.mkdir(path, { mode, parents, ...account, deadline: guestDeadline(`a folder of ${sandbox.id}`) }),
    )
    void reply.code(201)
    return statEntry({ sandbox, path, account })
  })
}

/** `POST /v1/sandboxes/{id}/fs/move`: an atomic rename; 200 with the entry at its new path. */
function moveFile(server: FastifyInstance, agent: Agent): void {
  server.post('/v1/sandboxes/:id/fs/move', async (request): Promise<FileEntry> => {
    const { sandbox, path, account } = findTarget(agent, request)
    const to = parseQueryPath(request.raw.url ?? '', 'to')
    const { overwrite, parents } = parseQuery(moveQuery, request)
    await withGuest(sandbox, ({ files }) =>
      files.move(path, to, { overwrite, parents, ...account, deadline: guestDeadline(`a file of ${sandbox.id}`) }),
    )
    return statEntry({ sandbox, path: to, account })
  })
}
