import { logsFollowQuery } from '@offshoot/contract/deployment'
import { logLine, type LogLine } from '@offshoot/contract/log'
import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import type { AppRow } from '../model/app-row.ts'
import { findApp } from '../model/find-app.ts'
import type { AppsContext } from '../model/apps-context.ts'
import { parseWith } from '../../../platform/http/body.ts'
import type { SandboxRow } from '../../../fleet/sandbox-row.ts'
import { servingSandboxes } from '../model/instance-statements.ts'
import { byTime, isOfApp } from '../model/app-lines.ts'
import { followVersions } from './follow-versions.ts'
import { sendLines, wantsEventStream } from './line-stream.ts'
import { readWhole } from '../../../platform/http/bounded-body.ts'

/** Milliseconds to read the log of one sandbox. */
const ANSWER_MS = 15_000
/** Maximum bytes of that log. */
const MAX_LOG_BYTES = 64 * 1024 * 1024
/** The newest lines that an answer contains. */
const MAX_LINES = 10_000
const lines = z.array(logLine)

/**
 * `GET /v1/apps/{id}/runtime-logs`: the output of the serving version's instances, as text or as a stream. The stream
 * continues with later versions, also for a client that reconnects after a change of the version.
 */
export function getRuntimeLogs(app: FastifyInstance, control: AppsContext): void {
  app.get('/v1/apps/:id/runtime-logs', {
    config: {
      credential: 'key-or-jwt',
      takesQueryToken: true,
      docs: {
        summary: 'Read what an app says as text, or follow it (server-sent events, the last one named done)',
        tag: 'Apps',
        query: logsFollowQuery,
        status: 200,
        mediaType: 'text/plain',
        also: [{ status: 200, mediaType: 'text/event-stream' }],
        errors: ['invalidField', 'notFound', 'agentUnreachable'],
      },
    },
    handler: async (request, reply) => {
      const found = await findApp(control, request)
      const { follow } = parseWith(logsFollowQuery, request.query)
      if (!follow && !wantsEventStream(request)) {
        const said = await runtimeLines(control, found, request.id)
        return reply.type('text/plain; charset=utf-8').send(said.map((line) => `${line}\n`).join(''))
      }
      return sendLines(request, reply, control.openStreams, followVersions(control, found, request.id))
    },
  })
}

/** The output of background commands in each serving sandbox, which is the app itself. */
async function runtimeLines(control: AppsContext, app: AppRow, requestId: string): Promise<string[]> {
  const sandboxes = await servingSandboxes(control.database.pool, app.id)
  const said = await Promise.all(sandboxes.map((sandbox) => linesOf(control, sandbox, requestId)))
  return said
    .flat()
    .toSorted(byTime)
    .slice(-MAX_LINES)
    .map(({ line }) => line)
}

async function linesOf(control: AppsContext, sandbox: SandboxRow, requestId: string): Promise<LogLine[]> {
  const agent = control.fleet.byId(sandbox.agent_id)
  if (agent === undefined) return []
  const answer = await agent.client.forward({
    method: 'GET',
    path: `/v1/sandboxes/${sandbox.id}/logs`,
    workspaceId: sandbox.workspace_id,
    requestId,
    headers: { accept: 'application/json' },
    timeoutMs: ANSWER_MS,
    silenceMs: ANSWER_MS,
    signal: AbortSignal.timeout(ANSWER_MS),
  })
  if (answer.statusCode === 200)
    return lines.parse(JSON.parse((await readWhole(answer.body, MAX_LOG_BYTES)).toString())).filter(isOfApp)
  await answer.body.dump()
  return []
}
