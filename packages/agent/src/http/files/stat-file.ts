import type { FileEntry } from '@offshoot/contract/file'
import type { FastifyInstance } from 'fastify'
import type { Agent } from '../../sandbox/agent.ts'
import { statEntry } from '../../sandbox/files/stat-entry.ts'
import { findTarget } from './find-target.ts'

/** `GET /v1/sandboxes/{id}/fs/stat`: of the path itself, also when it is a link. */
export function statFile(server: FastifyInstance, agent: Agent): void {
  server.get('/v1/sandboxes/:id/fs/stat', async (request): Promise<FileEntry> => {
    const { sandbox, path } = findTarget(agent, request)
    return statEntry(sandbox, path)
  })
}
