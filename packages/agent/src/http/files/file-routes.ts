import { drainRequest } from '@offshoot/kit/drain-request'
import type { FastifyInstance } from 'fastify'
import type { Agent } from '../../sandbox/agent.ts'
import { transferArchive } from './transfer-archive.ts'
import { listFolder } from './list-folder.ts'
import { makeFolder } from './make-folder.ts'
import { moveFile } from './move-file.ts'
import { readFile } from './read-file.ts'
import { removeFile } from './remove-file.ts'
import { statFile } from './stat-file.ts'
import { watchFiles } from './watch-files.ts'
import { writeFile } from './write-file.ts'

/** `/v1/sandboxes/{id}/fs…`, in a scope of its own, because in it bodies stay streams. */
export function fileRoutes(server: FastifyInstance, agent: Agent): void {
  void server.register(async (scope) => {
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser('*', (_request, _payload, done) => done(null))
    // Control sends its next request on the same connection, behind what a refused upload left on it.
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
