import { buffer } from 'node:stream/consumers'
import {
  type ArchivedFiles,
  archivedFilesQuery,
  MAX_ARCHIVED_BYTES,
  MAX_LISTED_FILES,
  putArchivedQuery,
} from '@offshoot/contract/agent-archive'
import { ApiError } from '@offshoot/contract/errors'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Agent } from '../sandbox/agent.ts'
import type { Sandbox } from '../sandbox/model/sandbox.ts'
import { type Archive, ArchiveFull, OtherContent } from '../store/archives/archive.ts'
import { isArchiveName } from '../store/archives/spool.ts'
import { isDiskFull } from '../store/data-dir/full-disk.ts'
import { UploadBody } from './files/receive-upload.ts'
import { parseQuery } from './request/parse-query.ts'
import { ownSandbox } from './request/require-credential.ts'
import { withStreamBodies } from './move-streams.ts'

const PATH = '/v1/sandboxes/:id/archive/files'
const status = { config: { isStatus: true } }

/**
 * `GET /v1/sandboxes/{id}/archive/files`, `GET` and `PUT …/files/{name}`: control takes an archive to another host
 * (docs/internal-api.md, "Archive"). None of them wakes the sandbox or counts as activity.
 */
export function archivedFileRoutes(server: FastifyInstance, { host, stopping }: Agent): void {
  const archiveOf = async (request: FastifyRequest): Promise<Archive> => host.store.archives.of(find(host, request))
  server.get(PATH, status, async (request): Promise<ArchivedFiles> => {
    const { after = '' } = parseQuery(archivedFilesQuery, request)
    const archive = await archiveOf(request)
    const { cursor, names } = archive.filesAfter(after, MAX_LISTED_FILES)
    return { cursor, files: names.flatMap((name) => describe(archive, name)) }
  })
  server.get(`${PATH}/:name`, status, async (request, reply) => {
    const packed = await (await archiveOf(request)).readPacked(nameOf(request))
    if (packed === null) throw new ApiError('notFound', { detail: 'the archive has no such file' })
    return reply.type('application/octet-stream').send(packed)
  })
  withStreamBodies(server, (scope) => {
    scope.put(`${PATH}/:name`, status, async (request, reply) => {
      const { taken_at: takenAt } = parseQuery(putArchivedQuery, request)
      const name = nameOf(request)
      const sandbox = find(host, request)
      if (!sandbox.manifest.durable) throw new ApiError('conflict', { detail: 'its disk is not archived' })
      const body = UploadBody.of(request, MAX_ARCHIVED_BYTES, stopping)
      try {
        const packed = await buffer(body)
        const archive = await host.store.archives.of(sandbox)
        const put = () => archive.putPacked(name, packed, Date.parse(takenAt))
        await host.store.archives.exclusively(sandbox, put).catch(refuse)
      } finally {
        body.close()
      }
      return reply.code(204).send()
    })
  })
}

function describe(archive: Archive, name: string): ArchivedFiles['files'] {
  const file = archive.fileOf(name)
  return file === null ? [] : [{ name, bytes: file.bytes, taken_at: new Date(file.takenAtMs).toISOString() }]
}

function find({ sandboxes }: Agent['host'], request: FastifyRequest): Sandbox {
  const sandbox = ownSandbox(sandboxes, request)
  if (sandbox === null) throw new ApiError('sandboxNotFound')
  return sandbox
}

/** Is used as the name of a file. @throws ApiError 400 */
function nameOf({ params }: FastifyRequest): string {
  const { name } = params as { name: string }
  if (!isArchiveName(name)) throw new ApiError('invalidField', { error: 'no name of an archived file' })
  return name
}

function refuse(error: unknown): never {
  if (error instanceof OtherContent) throw new ApiError('conflict', { detail: error.message }, { cause: error })
  if (error instanceof ArchiveFull || isDiskFull(error)) throw new ApiError('sandboxStorage', {}, { cause: error })
  const code = error instanceof Error ? (error as NodeJS.ErrnoException).code : undefined
  if (code?.startsWith('ZSTD_') === true || code === 'ERR_BUFFER_TOO_LARGE' || code === 'Z_BUF_ERROR')
    throw new ApiError('invalidField', { error: 'the file cannot be decompressed' }, { cause: error })
  throw error
}
