import { addAbortSignal } from 'node:stream'
import type { ArchiveUnpacked } from '@offshoot/contract/file'
import { GuestFileError } from '@offshoot/guest-link/guest-file-error'
import type { FileOptions, GuestFiles, GuestPath } from '@offshoot/guest-link/guest-files'
import type { FastifyInstance } from 'fastify'
import type { Agent } from '../../sandbox/agent.ts'
import { nameFields } from '../../sandbox/files/present-entry.ts'
import { UploadBody } from './receive-upload.ts'
import { guestDeadline, withGuest } from '../../sandbox/model/guest-access.ts'
import { findTarget } from './find-target.ts'

/** `GET` and `PUT /v1/sandboxes/{id}/fs/archive`: download a folder as a tar stream, and unpack one into a folder. */
export function transferArchive(server: FastifyInstance, agent: Agent): void {
  const { maxUploadBytes, stopping } = agent
  server.get('/v1/sandboxes/:id/fs/archive', { exposeHeadRoute: false }, async (request, reply) => {
    const { sandbox, path, account } = findTarget(agent, request)
    const tar = await withGuest(sandbox, ({ files }) =>
      files.archive(path, { ...account, deadline: guestDeadline(`a folder of ${sandbox.id}`) }),
    )
    return reply.type('application/x-tar').send(addAbortSignal(stopping, tar))
  })
  server.put('/v1/sandboxes/:id/fs/archive', async (request): Promise<ArchiveUnpacked> => {
    const { sandbox, path, account } = findTarget(agent, request)
    const body = UploadBody.of(request, maxUploadBytes, stopping)
    try {
      const options = { ...account, deadline: body.deadline }
      const unpacked = await withGuest(sandbox, async ({ files }) => {
        await makeUnlessThere(files, path, options)
        return files.unpack(path, body, options)
      })
      return { ...nameFields('path', path), ...unpacked }
    } finally {
      body.close()
    }
  })
}

/** Creates missing parent folders, as a PUT of a file does. If the path exists but is not a folder, unpacking fails. */
async function makeUnlessThere(files: GuestFiles, path: GuestPath, options: FileOptions): Promise<void> {
  await files.mkdir(path, { ...options, parents: true }).catch((error: unknown) => {
    if (!(error instanceof GuestFileError) || error.code !== 'EEXIST') throw error
  })
}
