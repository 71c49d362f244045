import { ApiError } from '@offshoot/contract/errors'
import { LANGUAGES, lspPath, lspQuery } from '@offshoot/contract/lsp'
import type { FastifyInstance } from 'fastify'
import type { Agent } from '../sandbox/agent.ts'
import { startLanguageServer } from '../sandbox/lsp/language-server.ts'
import { LspSocket } from './streams/serve-lsp-socket.ts'
import { ownSandbox } from './request/require-credential.ts'
import { parseQuery } from './request/parse-query.ts'
import { AcceptedSocket, requireUpgrade, RESTARTING } from './streams/accept-web-socket.ts'

/** `GET /v1/sandboxes/{id}/lsp/{lang}`: a language server on a WebSocket. What cannot start is refused before the upgrade. */
export function getLsp(server: FastifyInstance, { host, stopping }: Agent): void {
  server.get('/v1/sandboxes/:id/lsp/:lang', { exposeHeadRoute: false }, async (request, reply) => {
    const sandbox = ownSandbox(host.sandboxes, request)
    if (sandbox === null) throw new ApiError('sandboxNotFound')
    const path = lspPath.safeParse(request.params)
    if (!path.success) throw new ApiError('notFound', { detail: `supported languages: ${LANGUAGES.join(', ')}` })
    requireUpgrade(reply)
    if (stopping.aborted) throw new ApiError('shuttingDown')
    const process = await startLanguageServer(sandbox, path.data.lang, parseQuery(lspQuery, request))
    if (request.raw.socket.destroyed) {
      process.kill('SIGKILL')
      throw new ApiError('invalidField', { error: 'the caller hung up' })
    }
    const socket = AcceptedSocket.accept(reply)
    const stop = () => socket.close(RESTARTING, 'shutting down')
    stopping.addEventListener('abort', stop, { once: true })
    await LspSocket.serve(process, socket, sandbox.log.command())
    stopping.removeEventListener('abort', stop)
    return reply
  })
}
