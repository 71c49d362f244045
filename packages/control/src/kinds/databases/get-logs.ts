import { logLine, logsQuery } from '@offshoot/contract/log'
import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { EVENTS_SILENCE_MS } from '../../fleet/agent-client.ts'
import type { DatabasesContext } from './databases-context.ts'
import { hangUpSignal } from '../../platform/http/hang-up.ts'
import { refuseForwarded } from '../../fleet/proxy/agent-of.ts'
import { answeredHeaders, forwardedHeaders } from '../../fleet/proxy/forwarded-headers.ts'
import { forwardedUrl } from '../../fleet/proxy/forwarded-url.ts'
import { agentOfDatabase } from './model/agent-of-database.ts'
import { findDatabase } from './find-database.ts'

/**
 * `GET /v1/databases/{id}/logs?follow=`: the server's log, which is the log of its sandbox. Does not wake the sandbox.
 */
export function getLogs(app: FastifyInstance, control: DatabasesContext): void {
  app.get('/v1/databases/:id/logs', {
    config: {
      credential: 'key-or-jwt',
      takesQueryToken: true,
      docs: {
        summary: 'Read the log of a database as text or JSON, or follow it (server-sent events named line)',
        tag: 'Databases',
        query: logsQuery,
        status: 200,
        answer: z.array(logLine),
        errors: ['notFound', 'agentUnreachable'],
      },
    },
    handler: async (request, reply) => {
      const row = await findDatabase(control, request)
      const agent = agentOfDatabase(control.fleet, row)
      const hangUp = hangUpSignal(request, reply)
      const { statusCode, headers, body } = await agent
        .forward({
          method: 'GET',
          path: forwardedUrl(request.url).replace('/v1/databases/', '/v1/sandboxes/'),
          workspaceId: row.workspace_id,
          requestId: request.id,
          headers: forwardedHeaders(request.headers),
          timeoutMs: EVENTS_SILENCE_MS,
          silenceMs: EVENTS_SILENCE_MS,
          signal: hangUp,
        })
        .catch((error: unknown) => refuseForwarded(error, hangUp))
      return reply.code(statusCode).headers(answeredHeaders(headers)).send(body)
    },
  })
}
