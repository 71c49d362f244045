import { ApiError } from '@offshoot/contract/errors'
import { LANGUAGES, lspPath, lspQuery } from '@offshoot/contract/lsp'
import { terminalQuery } from '@offshoot/contract/terminal'
import type { FastifyInstance } from 'fastify'
import type { Agent } from '../sandbox/agent.ts'
import { startLanguageServer } from '../sandbox/lsp/language-server.ts'
import { runningVm } from '../sandbox/model/guest-access.ts'
import { openTerminal } from '../sandbox/terminals/terminal.ts'
import { ExecSocket } from './streams/serve-exec-socket.ts'
import { LspSocket } from './streams/serve-lsp-socket.ts'
import { serveTerminal } from './streams/serve-terminal-socket.ts'
import { ownSandbox } from './request/require-credential.ts'
import { parseBody } from './request/parse-body.ts'
import { parseQuery } from './request/parse-query.ts'
import { AcceptedSocket, requireUpgrade, RESTARTING } from './streams/accept-web-socket.ts'

/** `GET /v1/sandboxes/{id}/exec/ws`: many commands over one WebSocket. */
export function getExecWs(server: FastifyInstance, { host, stopping }: Agent): void {
  server.get('/v1/sandboxes/:id/exec/ws', { exposeHeadRoute: false }, async (request, reply) => {
    const sandbox = ownSandbox(host.sandboxes, request)
    if (sandbox === null) throw new ApiError('sandboxNotFound')
    requireUpgrade(reply)
    if (stopping.aborted) throw new ApiError('shuttingDown')
    await runningVm(sandbox)
    if (request.raw.socket.destroyed) throw new ApiError('invalidField', { error: 'the caller hung up' })
    const socket = AcceptedSocket.accept(reply)
    const commands = new ExecSocket(sandbox, socket)
    const stop = () => {
      commands.close()
      socket.close(RESTARTING, 'shutting down')
    }
    stopping.addEventListener('abort', stop, { once: true })
    void socket.closed.then(() => stopping.removeEventListener('abort', stop))
    return reply
  })
}

/** `GET /v1/sandboxes/{id}/exec/pty`: a terminal on a WebSocket. Errors at its start are HTTP errors, before the upgrade. */
export function getExecPty(server: FastifyInstance, { host, stopping }: Agent): void {
  server.get('/v1/sandboxes/:id/exec/pty', { exposeHeadRoute: false }, async (request, reply) => {
    const sandbox = ownSandbox(host.sandboxes, request)
    if (sandbox === null) throw new ApiError('sandboxNotFound')
    requireUpgrade(reply)
    if (stopping.aborted) throw new ApiError('shuttingDown')
    const terminal = await openTerminal(sandbox, parseBody(terminalQuery, request.query))
    if (request.raw.socket.destroyed) {
      terminal.leave()
      throw new ApiError('invalidField', { error: 'the caller hung up' })
    }
    const socket = AcceptedSocket.accept(reply)
    const stop = () => socket.close(RESTARTING, 'shutting down')
    stopping.addEventListener('abort', stop, { once: true })
    await serveTerminal(sandbox, terminal, socket)
    stopping.removeEventListener('abort', stop)
    return reply
  })
}

/** `GET /v1/sandboxes/{id}/lsp/{lang}`: a language server on a WebSocket. Errors at its start are HTTP errors, before the upgrade. */
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
