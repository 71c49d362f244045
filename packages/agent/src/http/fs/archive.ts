import { addAbortSignal } from 'node:stream'
import type { ArchiveUnpacked } from '@offshoot/contract/file'
import type { FastifyInstance } from 'fastify'
import type { Agent } from '../../agent.ts'
import { shownName } from '../../files/shown-name.ts'
import { UploadBody } from '../../files/upload-body.ts'
import { guestDeadline, withGuest } from '../../sandboxes/guest-access.ts'
import { requestTarget } from './request-target.ts'

/** `GET` and `PUT /v1/sandboxes/{id}/fs/archive`: the content of a folder as a tar stream, and back. */
export function archive(server: FastifyInstance, agent: Agent): void {
  const { maxUploadBytes, stopping } = agent
  server.get('/v1/sandboxes/:id/fs/archive', { exposeHeadRoute: false }, async (request, reply) => {
    const { sandbox, path } = requestTarget(agent, request)
    const tar = await withGuest(sandbox, ({ files }) =>
      files.archive(path, { deadline: guestDeadline(`a folder of ${sandbox.id}`) }),
    )
    return reply.type('application/x-tar').send(addAbortSignal(stopping, tar))
  })
  server.put('/v1/sandboxes/:id/fs/archive', async (request): Promise<ArchiveUnpacked> => {
    const { sandbox, path } = requestTarget(agent, request)
    const body = UploadBody.of(request, maxUploadBytes, stopping)
    try {
      const unpacked = await withGuest(sandbox, ({ files }) => files.unpack(path, body, { deadline: body.deadline }))
      return { ...shownName('path', path), ...unpacked }
    } finally {
      body.close()
    }
  })
}
