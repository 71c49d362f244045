import { build, buildListQuery, buildLogLine, templateBuildListQuery } from '@offshoot/contract/build'
import { ApiError } from '@offshoot/contract/errors'
import { isUuid } from '@offshoot/contract/ids'
import { DEFAULT_LIST_LIMIT } from '@offshoot/contract/page'
import { queryFlag } from '@offshoot/contract/query-fields'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { sql } from 'kysely'
import { z } from 'zod'
import { EVENTS_SILENCE_MS } from '../../fleet/agent-client.ts'
import { refuse } from '../../fleet/agent-failure.ts'
import { cancelOnAgent } from '../../fleet/build-calls.ts'
import type { BillingContext } from '../billing/model/billing-context.ts'
import { callerOf } from '../../platform/http/caller.ts'
import { parseWith } from '../../platform/http/body.ts'
import { createdBetween, equals, type ListOrder, listPage, newestFirst } from '../../platform/http/page-of.ts'
import { hangUpSignal } from '../../platform/http/hang-up.ts'
import { passOn } from '../../fleet/proxy/forward.ts'
import { OpenStreams } from '../../platform/http/open-streams.ts'
import { BUILD_COLUMNS, type BuildRow, presentBuild } from './build-row.ts'
import { anyBuildOfTemplate, buildOfWorkspace } from './build-statements.ts'
import { settleBuilds } from './settle-builds.ts'
import { templateByName } from './template-statements.ts'

/** Milliseconds for an agent to start sending a log. */
const LOG_MS = 10_000
const credential = 'key-or-jwt'
const tag = 'Templates'
const ORDER: ListOrder<BuildRow> = newestFirst('builds', 'template_builds')
const logsQuery = z.object({ follow: queryFlag('follow') })

/**
 * `GET`, `DELETE /v1/builds/{id}`, `GET /v1/builds/{id}/logs`, the same routes under `/v1/templates/builds`, and their
 * lists.
 */
export function buildRoutes(app: FastifyInstance, control: BillingContext): void {
  app.get('/v1/templates/:name/builds', {
    config: {
      credential,
      docs: {
        summary: 'List builds of a template, newest first',
        tag,
        query: templateBuildListQuery,
        status: 200,
        answer: z.array(build),
        errors: ['invalidField', 'notFound'],
      },
    },
    handler: async (request, reply) => {
      const query = parseWith(templateBuildListQuery, request.query)
      const { name } = request.params as { name: string }
      const { workspaceId } = callerOf(request)
      if (name.includes('\0')) throw new ApiError('notFound')
      const rows = await listBuilds(control, request, reply, `${workspaceId}/${name}`, { ...query, name })
      if (rows.length === 0 && !(await isKnown(control, workspaceId, name))) throw new ApiError('notFound')
      return rows.map(presentBuild)
    },
  })
  app.get('/v1/templates/builds', {
    config: {
      credential,
      docs: {
        summary: 'List builds, newest first',
        tag,
        query: buildListQuery,
        status: 200,
        answer: z.array(build),
        errors: ['invalidField'],
      },
    },
    handler: async (request, reply) => {
      const query = parseWith(buildListQuery, request.query)
      const rows = await listBuilds(control, request, reply, callerOf(request).workspaceId, query)
      return rows.map(presentBuild)
    },
  })
  const openStreams = new OpenStreams()
  app.addHook('preClose', async () => openStreams.endAll())
  for (const path of ['/v1/builds/:id', '/v1/templates/builds/:id'] as const) oneBuild(app, control, path, openStreams)
}

/** A failed build leaves no template. The name is unknown only if there is neither a build nor a template. */
async function isKnown({ database }: BillingContext, workspaceId: string, name: string): Promise<boolean> {
  const built = await anyBuildOfTemplate(database.pool, workspaceId, name)
  return built.length > 0 || (await templateByName(database.pool, workspaceId, name)).length > 0
}

async function listBuilds(
  control: BillingContext,
  request: FastifyRequest,
  reply: FastifyReply,
  owner: string,
  { limit = DEFAULT_LIST_LIMIT, ...query }: z.infer<typeof buildListQuery>,
): Promise<readonly BuildRow[]> {
  const { workspaceId } = callerOf(request)
  await settleNow(control)
  return listPage(control, request, reply, {
    order: ORDER,
    owner,
    select: `select ${BUILD_COLUMNS} from template_builds`,
    where: [
      sql`workspace_id = ${workspaceId}`,
      ...equals('name', query.name),
      ...equals('status', query.status),
      ...createdBetween('created_at', query),
    ],
    query: { ...query, limit },
  })
}

function oneBuild(app: FastifyInstance, control: BillingContext, path: string, openStreams: OpenStreams): void {
  app.get(path, {
    config: { credential, docs: { summary: 'Read one build', tag, status: 200, answer: build, errors: ['notFound'] } },
    handler: async (request) => {
      if ((await find(control, request)).ended_at === null) await settleNow(control)
      return presentBuild(await find(control, request))
    },
  })
  app.delete(path, {
    config: {
      credential,
      docs: {
        summary: 'Cancel a build; one that has ended stays',
        tag,
        status: 204,
        errors: ['notFound', 'agentUnreachable'],
      },
    },
    handler: async (request, reply) => {
      const { id, workspace_id: workspaceId, ended_at: endedAt, agent_id: agentId } = await find(control, request)
      if (endedAt === null) {
        const agent = control.fleet.byId(agentId)
        if (agent === undefined) throw new ApiError('agentUnreachable')
        await cancelOnAgent(agent.client, { id, workspaceId, requestId: request.id }).catch(refuse)
        await settleNow(control)
      }
      return reply.code(204).send()
    },
  })
  app.get(`${path}/logs`, {
    config: {
      credential,
      takesQueryToken: true,
      docs: {
        summary: 'Read the log of a build as text, or follow it (server-sent events named line, then done)',
        tag,
        query: logsQuery,
        status: 200,
        answer: buildLogLine,
        mediaType: 'text/event-stream',
        also: [{ status: 200, mediaType: 'text/plain' }],
        errors: ['notFound', 'agentUnreachable'],
      },
    },
    handler: async (request, reply) => sendLog(control, request, reply, openStreams),
  })
}

async function sendLog(
  control: BillingContext,
  request: FastifyRequest,
  reply: FastifyReply,
  openStreams: OpenStreams,
): Promise<FastifyReply> {
  const row = await find(control, request)
  const { follow } = parseWith(logsQuery, request.query)
  const wantsEvents = follow || /\btext\/event-stream\b/.test(request.headers.accept ?? '')
  const agent = control.fleet.byId(row.agent_id)
  if (agent === undefined) throw new ApiError('agentUnreachable')
  const last = request.headers['last-event-id']
  const answer = await agent.client
    .forward({
      method: 'GET',
      path: `/v1/builds/${row.id}/logs${wantsEvents ? '?follow=1' : ''}`,
      workspaceId: row.workspace_id,
      requestId: request.id,
      headers: typeof last === 'string' ? { 'last-event-id': last } : {},
      timeoutMs: LOG_MS,
      silenceMs: EVENTS_SILENCE_MS,
      signal: hangUpSignal(request, reply),
    })
    .catch(refuse)
  if (answer.statusCode === 404) {
    await answer.body.dump()
    throw new ApiError('notFound', { detail: 'the log of this build is not kept any more' })
  }
  return passOn(reply, answer, (end) => openStreams.add(end))
}

async function find({ database }: BillingContext, request: FastifyRequest): Promise<BuildRow> {
  const { id } = request.params as { id: string }
  const [row] = isUuid(id) ? await buildOfWorkspace(database.pool, callerOf(request).workspaceId, id) : []
  if (row === undefined) throw new ApiError('notFound')
  return row
}

/**
 * Settles builds first, so that the caller sees their current state. If an agent cannot be asked, the caller sees the
 * last known one.
 */
async function settleNow(control: BillingContext): Promise<void> {
  await settleBuilds(control, control.log).catch((error: unknown) =>
    control.log.warn({ err: error }, 'builds are as they were'),
  )
}
