import { logsFollowQuery } from '@offshoot/contract/deployment'
import { logLine } from '@offshoot/contract/log'
import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import type { AppRow } from '../apps/app-row.ts'
import { appById } from '../apps/app-statements.ts'
import { findApp } from '../apps/find-app.ts'
import type { Control } from '../control.ts'
import { parseWith } from '../http/body.ts'
import { sandboxById } from '../sandboxes/sandbox-statements.ts'
import { deploymentOfApp } from './deployment-statements.ts'
import { sendLines, type SentLines, wantsEventStream } from './line-stream.ts'

/** Milliseconds for the log of a sandbox. */
const ANSWER_MS = 15_000
/** Lines that are kept of each version's output, as an answer shows them. */
const MAX_LINES = 10_000
const lines = z.array(logLine)

/** `GET /v1/apps/{id}/runtime-logs`: what the version that serves has said, as text, or followed over every version that comes. */
export function getRuntimeLogs(app: FastifyInstance, control: Control): void {
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
      return sendLines(request, reply, control.openStreams, follower(control, found, request.id))
    },
  })
}

/** Positions count lines of the version that serves, from 1; another version begins anew. */
function follower(control: Control, { id }: AppRow, requestId: string) {
  let active: string | null = null
  let seen = 0
  return async (after: string): Promise<SentLines> => {
    const [app] = await appById(control.database.pool, id)
    if (app === undefined) return { lines: [], isOver: true }
    if (app.active_deployment_id !== active) {
      seen = active === null ? Number(after) : 0
      active = app.active_deployment_id
    }
    const said = await runtimeLines(control, app, requestId).catch(() => [])
    const fresh = said.slice(seen).map((text, at) => ({ id: String(seen + at + 1), text }))
    seen = Math.max(seen, said.length)
    return { lines: fresh, isOver: false }
  }
}

/** What commands in the background have written in the sandbox that serves: the app itself. */
async function runtimeLines(control: Control, app: AppRow, requestId: string): Promise<string[]> {
  const { pool } = control.database
  if (app.active_deployment_id === null) return []
  const [deployment] = await deploymentOfApp(pool, app.active_deployment_id, app.id)
  if (deployment === undefined || deployment.sandbox_id === null) return []
  const [sandbox] = await sandboxById(pool, deployment.sandbox_id)
  const agent = sandbox && control.fleet.byId(sandbox.agent_id)
  if (sandbox === undefined || agent === undefined) return []
  const answer = await agent.client.forward({
    method: 'GET',
    path: `/v1/sandboxes/${sandbox.id}/logs`,
    workspaceId: app.workspace_id,
    requestId,
    headers: { accept: 'application/json' },
    timeoutMs: ANSWER_MS,
    silenceMs: ANSWER_MS,
    signal: AbortSignal.timeout(ANSWER_MS),
  })
  if (answer.statusCode !== 200) {
    await answer.body.dump()
    return []
  }
  const said = lines.parse(await answer.body.json()).filter(({ source }) => source.startsWith('exec:'))
  return said.slice(-MAX_LINES).map(({ line }) => line)
}
