import { logsFollowQuery } from '@offshoot/contract/deployment'
import { logLine, type LogLine } from '@offshoot/contract/log'
import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import type { AppRow } from '../model/app-row.ts'
import { appById } from '../model/app-statements.ts'
import { findApp } from '../model/find-app.ts'
import type { AppsContext } from '../model/apps-context.ts'
import { parseWith } from '../../../platform/http/body.ts'
import type { SandboxRow } from '../../../fleet/sandbox-row.ts'
import { servingSandboxes } from '../model/instance-statements.ts'
import { LogTail } from './log-tail.ts'
import { sendLines, type SentLines, wantsEventStream } from './line-stream.ts'
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
 * continues with later versions.
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
      return sendLines(request, reply, control.openStreams, follower(control, found, request.id))
    },
  })
}

/** Positions count the lines of the serving version, from 1. They start again with every version. */
function follower(control: AppsContext, { id }: AppRow, requestId: string) {
  const tails = new Map<SandboxRow['id'], LogTail>()
  let active: string | null = null
  let position = 0
  let had = 0
  return async (after: string, left: AbortSignal): Promise<SentLines> => {
    const [app] = await appById(control.database.pool, id)
    if (app === undefined) return { lines: [], isOver: true }
    if (app.active_deployment_id !== active) {
      // A client that reconnects has already received this many lines of the serving version.
      had = active === null ? Number(after) : 0
      position = 0
      active = app.active_deployment_id
    }
    const serving = await servingSandboxes(control.database.pool, id)
    for (const sandbox of serving) {
      if (!tails.has(sandbox.id)) tails.set(sandbox.id, new LogTail(control, sandbox, requestId, left))
    }
    const ids = new Set(serving.map((each) => each.id))
    const fresh = [...tails.values()].flatMap((tail) => tail.take())
    for (const [sandboxId, tail] of tails) {
      if (ids.has(sandboxId)) continue
      tail.end()
      tails.delete(sandboxId)
    }
    const numbered = inOrder(fresh).map((text) => ({ at: (position += 1), text }))
    return {
      lines: numbered.filter(({ at }) => at > had).map(({ at, text }) => ({ id: String(at), text })),
      isOver: false,
    }
  }
}

/** The output of background commands in each serving sandbox, which is the app itself. */
async function runtimeLines(control: AppsContext, app: AppRow, requestId: string): Promise<string[]> {
  const sandboxes = await servingSandboxes(control.database.pool, app.id)
  const said = await Promise.all(sandboxes.map((sandbox) => linesOf(control, sandbox, requestId)))
  return inOrder(said.flat()).slice(-MAX_LINES)
}

function inOrder(all: readonly LogLine[]): string[] {
  return all.toSorted((a, b) => (a.ts < b.ts ? -1 : Number(a.ts > b.ts))).map(({ line }) => line)
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
    return lines
      .parse(JSON.parse((await readWhole(answer.body, MAX_LOG_BYTES)).toString()))
      .filter(({ source }) => source.startsWith('exec:'))
  await answer.body.dump()
  return []
}
