import { writeQuery, type FileWritten } from '@offshoot/contract/file'
import type { FastifyInstance } from 'fastify'
import type { Agent } from '../../agent.ts'
import { shownName } from '../../files/shown-name.ts'
import { UploadBody } from '../../files/upload-body.ts'
import { withGuest } from '../../sandboxes/guest-access.ts'
import { parseQuery } from '../parse-query.ts'
import { requestTarget } from './request-target.ts'

/** `PUT /v1/sandboxes/{id}/fs`: the body, whatever type it claims, becomes the file. */
export function writeFile(server: FastifyInstance, agent: Agent): void {
  server.put('/v1/sandboxes/:id/fs', async (request): Promise<FileWritten> => {
    const { sandbox, path } = requestTarget(agent, request)
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
