import type { Readable } from 'node:stream'
import { ONLY_HEADER } from '@offshoot/contract/agent-move'
import { ApiError } from '@offshoot/contract/errors'
import type { WorkspaceId } from '@offshoot/contract/ids'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { UploadBody } from './files/receive-upload.ts'

/** Maximum bytes of a stream: more than any disk that moves has. */
const MAX_STREAM_BYTES = 2 ** 42

/** Sends what another host is to import. It breaks off when the agent stops. */
export function sendExport(
  reply: FastifyReply,
  stream: Readable,
  stopping: AbortSignal,
  only: 'bake' | undefined,
): FastifyReply {
  const stop = () => stream.destroy(new ApiError('shuttingDown'))
  stopping.addEventListener('abort', stop, { once: true })
  stream.once('close', () => stopping.removeEventListener('abort', stop))
  if (only !== undefined) void reply.header(ONLY_HEADER, only)
  return reply.type('application/octet-stream').send(stream)
}

/** Registers routes in a Fastify scope of their own, in which bodies stay streams instead of being parsed. */
export function withStreamBodies(server: FastifyInstance, register: (scope: FastifyInstance) => void): void {
  void server.register(async (scope) => {
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser('*', (_request, _payload, done) => done(null))
    register(scope)
  })
}

/** Reads the body of an import. @throws ApiError 400 if the credential names no workspace; 503 */
export async function receiveImport<T>(
  request: FastifyRequest,
  stopping: AbortSignal,
  receive: (body: Readable, workspaceId: WorkspaceId) => Promise<T>,
): Promise<T> {
  const { workspaceId } = request.caller
  if (workspaceId === null) throw new ApiError('invalidField', { error: 'the credential names no workspace' })
  if (stopping.aborted) throw new ApiError('shuttingDown')
  const body = UploadBody.of(request, MAX_STREAM_BYTES, stopping)
  const { signal } = body.deadline
  signal.addEventListener('abort', () => body.destroy(signal.reason as Error), { once: true })
  try {
    return await receive(body, workspaceId)
  } finally {
    body.close()
  }
}
