import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { CODE_PORT } from '@offshoot/contract/code'
import type { E2bConfig } from '@offshoot/contract/process-config'
import Fastify, { type FastifyBaseLogger, type FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import { answerFailure, ApiFailure } from './api/errors.ts'
import { listRoutes } from './api/list-routes.ts'
import { metricsRoutes } from './api/metrics-routes.ts'
import { sandboxRoutes } from './api/sandbox-routes.ts'
import { templateRoutes } from './api/template-routes.ts'
import { answerCode } from './code/code-interpreter.ts'
import type { GatewayContext } from './base/context.ts'
import { ControlClient } from './control/control-client.ts'
import { ControlRefused } from './control/control-failure.ts'
import { Envd } from './envd/envd.ts'
import { forwardPort, forwardPortUpgrade } from './ports/forward-port.ts'
import { sandboxNotFound, sendPortRefusal, unavailable } from './ports/port-refusal.ts'
import { isRunning } from './ports/sandbox-state.ts'
import { SandboxAccess } from './base/sandbox-access.ts'
import { ENVD_PORT, targetOf, type Target } from './ports/sandbox-target.ts'

/** Bytes of a body of the API. */
const BODY_LIMIT_BYTES = 1024 * 1024
/** Milliseconds to receive a whole request: an upload of 5 GiB at 0.5 MiB/s. */
const RECEIVE_TIMEOUT_MS = 3 * 60 * 60_000
const HEAD_TIMEOUT_MS = 60_000

type PortTarget = Extract<Target, { kind: 'port' }>

export interface Gateway {
  readonly server: Server
  /** Ends open streams, and waits for the requests that run. */
  close(): Promise<void>
}

/** Serves E2B's API, and the inside of sandboxes, on one port. The host or the headers say which a request is for. */
export async function createGateway(config: E2bConfig, log: Logger): Promise<Gateway> {
  const context: GatewayContext = {
    config,
    log,
    control: new ControlClient(config.control_url),
    access: new SandboxAccess(Buffer.from(config.gateway_secret, 'base64')),
  }
  const envd = new Envd(context)
  const targetOfRequest = ({ headers }: IncomingMessage) => targetOf(headers, config.domain.suffix, context.access)
  const serve = (api: RequestListener) => (request: IncomingMessage, response: ServerResponse) => {
    const target = targetOfRequest(request)
    if (target.kind === 'api') api(request, response)
    else void answerPort(context, envd, target, request, response)
  }
  const loggerInstance: FastifyBaseLogger = log
  const app: FastifyInstance = Fastify({
    loggerInstance,
    disableRequestLogging: true,
    bodyLimit: BODY_LIMIT_BYTES,
    serverFactory: (api) =>
      createServer({ requestTimeout: RECEIVE_TIMEOUT_MS, headersTimeout: HEAD_TIMEOUT_MS }, serve(api)),
  })
  app.setErrorHandler(answerFailure)
  app.setNotFoundHandler(async () => {
    throw new ApiFailure(404, 'no such route')
  })
  // Clients send requests without a body under this type.
  app.addContentTypeParser('*', (_request, payload, done) => {
    payload.resume()
    done(null, undefined)
  })
  for (const path of ['/health', '/healthz']) app.get(path, async () => ({ status: 'ok' }))
  for (const routes of [sandboxRoutes, listRoutes, metricsRoutes, templateRoutes]) routes(app, context)
  await app.ready()
  const { server } = app
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    const target = targetOfRequest(request)
    if (target.kind === 'api' || target.id === null) socket.destroy()
    else void upgradePort(context, { id: target.id, port: target.port }, request, socket, head)
  })
  return {
    server,
    async close() {
      envd.close()
      await app.close()
      await context.control.close()
    },
  }
}

async function answerPort(
  context: GatewayContext,
  envd: Envd,
  { id, shown, port }: PortTarget,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  try {
    if (id === null || !(await isRunning(context, id))) sendPortRefusal(request, response, sandboxNotFound(shown))
    else if (port === ENVD_PORT) await envd.handle(id, request, response)
    else if (port === CODE_PORT) {
      const call = envd.admit(id, request, response)
      if (call !== null) await answerCode(call, request, response)
    } else forwardPort(context, { id, shown, port }, request, response)
  } catch (error) {
    const isRefused = error instanceof ControlRefused
    if (!isRefused) context.log.error({ err: error, sandbox_id: id }, 'request to a sandbox failed')
    const [status, message] = isRefused ? [error.status, error.message] : [503, 'The sandbox cannot be reached']
    sendPortRefusal(request, response, unavailable(shown, status, message))
  }
}

async function upgradePort(
  context: GatewayContext,
  target: Parameters<typeof forwardPortUpgrade>[1],
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
): Promise<void> {
  try {
    if (await isRunning(context, target.id)) forwardPortUpgrade(context, target, request, socket, head)
    else socket.destroy()
  } catch (error) {
    context.log.warn({ err: error, sandbox_id: target.id }, 'upgrade failed')
    socket.destroy()
  }
}
