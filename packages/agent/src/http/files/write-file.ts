import { writeQuery, type FileWritten } from '@offshoot/contract/file'
import type { FastifyInstance } from 'fastify'
import type { Agent } from '../../sandbox/agent.ts'
import { shownName } from '../../sandbox/files/shown-name.ts'
import { UploadBody } from './receive-upload.ts'
import { withGuest } from '../../sandbox/model/guest-access.ts'
import { parseQuery } from '../request/parse-query.ts'
import { findTarget } from './find-target.ts'

/** `PUT /v1/sandboxes/{id}/fs`: the body, whatever type it claims, becomes the file. */
export function writeFile(server: FastifyInstance, agent: Agent): void {
  server.put('/v1/sandboxes/:id/fs', async (request): Promise<FileWritten> => {
    const { sandbox, path } = findTarget(agent, request)
    const { mode } = parseQuery(writeQuery, request)
    const body = UploadBody.of(request, agent.maxUploadBytes, agent.stopping)
    try {
      const options = { mode, parents: true, deadline: body.deadline }
      const bytes = await withGuest(sandbox, ({ files }) => files.write(path, body, options))
      return { ...shownName('path', path), bytes }
    } finally {
      body.close()
    }
  })
}
