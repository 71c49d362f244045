import { mkdirQuery, type FileEntry } from '@offshoot/contract/file'
import type { FastifyInstance } from 'fastify'
import type { Agent } from '../../sandbox/agent.ts'
import { statEntry } from '../../sandbox/files/stat-entry.ts'
import { guestDeadline, withGuest } from '../../sandbox/model/guest-access.ts'
import { parseQuery } from '../request/parse-query.ts'
import { findTarget } from './find-target.ts'

/** `POST /v1/sandboxes/{id}/fs/mkdir`: 201 with the folder. */
export function makeFolder(server: FastifyInstance, agent: Agent): void {
  server.post('/v1/sandboxes/:id/fs/mkdir', async (request, reply): Promise<FileEntry> => {
    const { sandbox, path } = findTarget(agent, request)
    const { mode, parents } = parseQuery(mkdirQuery, request)
    await withGuest(sandbox, ({ files }) =>
      files.mkdir(path, { mode, parents, deadline: guestDeadline(`a folder of ${sandbox.id}`) }),
    )
    void reply.code(201)
    return statEntry(sandbox, path)
  })
}
