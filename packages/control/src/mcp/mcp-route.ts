import { Readable } from 'node:stream'
import { createMcpHandler } from '@modelcontextprotocol/server'
import { ApiError } from '@offshoot/contract/errors'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import type { ControlConfig } from '@offshoot/contract/process-config'
import { parseBody } from '../platform/http/body.ts'
import { hangUpSignal } from '../platform/http/hang-up.ts'
import { makeMcpServer } from './mcp-server.ts'
import { OwnApi } from './own-api.ts'
import { RunningCalls, sessionHeader } from './running-calls.ts'

/** Bytes of a request. A file that is written travels in it. */
const BODY_LIMIT_BYTES = 8 * 1024 * 1024

/** A message of JSON-RPC. The library checks it. */
const message = z.looseObject({ jsonrpc: z.literal('2.0', { error: 'a JSON-RPC 2.0 message required' }) })

const toolCall = z.looseObject({ name: z.string() })

/**
 * `POST /mcp`: the Model Context Protocol over streamable HTTP, without sessions. Each request has a server of its own,
 * whose tools call the public API with the request's credential.
 */
export function mcpRoute(app: FastifyInstance, config: ControlConfig): void {
  const calls = new RunningCalls()
  app.post('/mcp', {
    bodyLimit: BODY_LIMIT_BYTES,
    config: {
      credential: 'key-or-jwt',
      // The routes that the tools call check scopes, and have their entries in the audit log.
      takesNarrowed: true,
      audit: 'own',
      docs: {
        summary: 'Call tools by the Model Context Protocol',
        tag: 'MCP',
        body: message,
        status: 200,
        answer: z.looseObject({}),
        also: [{ status: 202 }, { status: 200, mediaType: 'text/event-stream' }],
        errors: ['invalidJson', 'invalidField', 'originRefused', 'bodyTooLarge'],
      },
    },
    onRequest: async (request) => refuseForeignOrigin(request, config),
    handler: async (request, reply) => {
      const parsedBody = parseBody(request, message)
      calls.cancel(request, parsedBody)
      const signal = AbortSignal.any([hangUpSignal(request, reply), calls.begin(request, reply, parsedBody)])
      const options = {
        api: new OwnApi(app, request, signal),
        preview: config.preview,
        version: config.commit,
        calledTool: calledTool(parsedBody),
      }
      const handler = createMcpHandler(() => makeMcpServer(options), {
        onerror: (error) => request.log.info({ err: error }, 'MCP request refused'),
      })
      const answer = await handler.fetch(webRequest(request, config, signal), { parsedBody })
      return send(answer, reply.headers(sessionHeader(parsedBody)))
    },
  })
}

/** A page of another site must not use a credential that a browser has. @throws ApiError 403 */
function refuseForeignOrigin(
  { headers }: FastifyRequest,
  { cors_origins: allowed, public_url: own }: ControlConfig,
): void {
  const { origin } = headers
  if (origin === undefined || origin === new URL(own).origin || allowed.includes(origin)) return
  throw new ApiError('originRefused')
}

function calledTool({ method, params }: z.infer<typeof message>): string | null {
  return method === 'tools/call' ? (toolCall.safeParse(params).data?.name ?? null) : null
}

/** The body is passed parsed. */
function webRequest(
  { headers, method }: FastifyRequest,
  { public_url: url }: ControlConfig,
  signal: AbortSignal,
): Request {
  const given = Object.entries(headers).flatMap(([name, value]) =>
    typeof value === 'string' && !name.startsWith(':') ? [[name, value] as const] : [],
  )
  const sent = new Headers(given.map(([name, value]) => [name, value]))
  // As for other routes, the type that the client names does not matter.
  sent.set('content-type', 'application/json')
  return new Request(`${url}/mcp`, { method, headers: sent, signal })
}

function send(answer: Response, reply: FastifyReply): FastifyReply {
  void reply.code(answer.status)
  for (const [name, value] of answer.headers) void reply.header(name, value)
  return reply.send(answer.body === null ? undefined : Readable.fromWeb(answer.body))
}
