import { moveQuery, type FileEntry } from '@offshoot/contract/file'
import type { FastifyInstance } from 'fastify'
import type { Agent } from '../../sandbox/agent.ts'
import { parseQueryPath } from './parse-query-path.ts'
import { statEntry } from '../../sandbox/files/stat-entry.ts'
import { guestDeadline, withGuest } from '../../sandbox/model/guest-access.ts'
import { parseQuery } from '../request/parse-query.ts'
import { findTarget } from './find-target.ts'

/** `POST /v1/sandboxes/{id}/fs/move`: one rename; 200 with the file where it now is. */
export function moveFile(server: FastifyInstance, agent: Agent): void {
  server.post('/v1/sandboxes/:id/fs/move', async (request): Promise<FileEntry> => {
    const { sandbox, path } = findTarget(agent, request)
    const to = parseQueryPath(request.raw.url ?? '', 'to')
    const { overwrite, parents } = parseQuery(moveQuery, request)
    await withGuest(sandbox, ({ files }) =>
      files.move(path, to, { overwrite, parents, deadline: guestDeadline(`a file of ${sandbox.id}`) }),
    )
    return statEntry(sandbox, to)
  })
}
