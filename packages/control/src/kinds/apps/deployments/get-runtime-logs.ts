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
/** Sandboxes of older versions in a position. So many old versions are kept. */
const MAX_OTHERS = 3
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

/**
 * A position has the number of the last line of each serving sandbox, in the sandbox's own log. So it stays valid when
 * old lines are dropped, and when another version serves.
 */
function follower(control: AppsContext, { id }: AppRow, requestId: string) {
  const tails = new Map<SandboxRow['id'], LogTail>()
  const sent = new Map<string, number>()
  return async (after: string, left: AbortSignal): Promise<SentLines> => {
    if (sent.size === 0) for (const [sandbox, n] of parsePosition(after)) sent.set(sandbox, n)
    const [app] = await appById(control.database.pool, id)
    if (app === undefined) return { lines: [], isOver: true }
    const serving = await servingSandboxes(control.database.pool, id)
    for (const sandbox of serving) {
      if (tails.has(sandbox.id)) continue
      tails.set(sandbox.id, new LogTail(control, sandbox, sent.get(sandbox.id) ?? 0, requestId, left))
    }
    const fresh = [...tails].flatMap(([sandbox, tail]) => tail.take().map((line) => ({ ...line, sandbox })))
    const lines = inOrder(fresh).map(({ sandbox, n, line: text }) => {
      sent.set(sandbox, n)
      return { id: formatPosition(sent), text }
    })
    const ids = new Set(serving.map((each) => each.id))
    for (const [sandboxId, tail] of tails) {
      if (ids.has(sandboxId)) continue
      tail.end()
      tails.delete(sandboxId)
    }
    forgetOldest(sent, ids)
    return { lines, isOver: false }
  }
}

/** Keeps the sandboxes that serve, and the latest others: a rollback makes one of them serve again. */
function forgetOldest(sent: Map<string, number>, serving: ReadonlySet<string>): void {
  const others = [...sent.keys()].filter((id) => !serving.has(id))
  for (const id of others.slice(0, -MAX_OTHERS)) sent.delete(id)
}

/** E.g. `8f0c…=12,91ab…=3`. */
const formatPosition = (sent: ReadonlyMap<string, number>) => [...sent].map(([id, n]) => `${id}=${n}`).join()

function parsePosition(text: string): [sandbox: string, n: number][] {
  return [...text.matchAll(/([\w-]+)=(\d{1,15})/g)].map(([, sandbox = '', n]) => [sandbox, Number(n)])
}

/** The output of background commands in each serving sandbox, which is the app itself. */
async function runtimeLines(control: AppsContext, app: AppRow, requestId: string): Promise<string[]> {
  const sandboxes = await servingSandboxes(control.database.pool, app.id)
  const said = await Promise.all(sandboxes.map((sandbox) => linesOf(control, sandbox, requestId)))
  return inOrder(said.flat())
    .slice(-MAX_LINES)
    .map(({ line }) => line)
}

function inOrder<T extends LogLine>(all: readonly T[]): T[] {
  return all.toSorted((a, b) => (a.ts < b.ts ? -1 : Number(a.ts > b.ts)))
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
