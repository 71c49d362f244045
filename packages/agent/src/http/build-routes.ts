import {
  buildOnAgentBody,
  type AgentBuild,
  type AgentBuildList,
  type agentTemplateList,
  templateOfSandboxBody,
  type uploadedRootfs,
} from '@offshoot/contract/agent-build'
import { ApiError } from '@offshoot/contract/errors'
import { type BuildId, parseBuildId } from '@offshoot/contract/ids'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { queryFlag } from '@offshoot/contract/query-fields'
import { z } from 'zod'
import type { Agent } from '../sandbox/agent.ts'
import type { Build } from '../sandbox/builds/build.ts'
import { newBuildRecord } from '../store/builds/build-record.ts'
import { buildFiles } from '../store/builds/build-files.ts'
import { beginFromSandbox } from '../sandbox/builds/template-of-sandbox.ts'
import { showBuild } from '../sandbox/builds/show-build.ts'
import { admitTemplate, takeUpload, type Upload } from '../store/builds/take-upload.ts'
import { deleteTemplate } from '../sandbox/templates/delete-template.ts'
import { sweepBakesSoon } from '../sandbox/cleanup/sweep-bakes.ts'
import { UploadBody } from './files/receive-upload.ts'
import { formatFrame, sendEventStream } from './streams/send-event-stream.ts'
import { ownSandbox } from './request/require-credential.ts'
import { parseBody } from './request/parse-body.ts'
import { lastEventId, parseQuery } from './request/parse-query.ts'

/** Maximum size of an uploaded archive in bytes, compressed or not. */
const MAX_UPLOAD_BYTES = 32 * 1024 ** 3
/** Milliseconds after which the agent deletes a complete upload for which no build was begun. */
const BEGIN_MS = 600_000

/**
 * `PUT /v1/builds/{id}/rootfs`, then `POST /v1/builds`; `GET /v1/builds`, `GET`, `DELETE /v1/builds/{id}`, `GET …/logs`;
 * `GET /v1/templates`, `DELETE /v1/templates/{id}`, `POST /v1/sandboxes/{id}/template`. Another workspace's objects answer 404.
 */
export function buildRoutes(server: FastifyInstance, agent: Agent): void {
  uploads(server, agent)
  queries(server, agent)
  const { host, stopping } = agent
  server.post('/v1/sandboxes/:id/template', async (request, reply): Promise<AgentBuild> => {
    const sandbox = ownSandbox(host.sandboxes, request)
    if (sandbox === null) throw new ApiError('sandboxNotFound')
    if (stopping.aborted) throw new ApiError('shuttingDown')
    const body = parseBody(templateOfSandboxBody, request.body)
    const id = parse(body.id)
    // A template's bake contains an image of the whole guest memory.
    await admitTemplate(host.store.dir.builds, sandbox.manifest.memory_mb)
    const build = await beginFromSandbox(host, agent.builds, sandbox, id, body)
    void reply.code(202)
    return showBuild(host.store.templates, build)
  })
  server.delete('/v1/builds/:id', async (request, reply) => {
    const build = agent.builds.find(idOf(request), request.caller.workspaceId)
    if (build !== null) await agent.builds.cancel(build)
    else await agent.builds.dropUpload(idOf(request))
    return reply.code(204).send()
  })
  server.get('/v1/builds/:id/logs', async (request, reply) => {
    const build = find(agent, request)
    const from = (lastEventId(request) ?? 0) + 1
    if (!parseQuery(logsQuery, request).follow) {
      const text = build.log.lines
        .map(({ ts, stage, percent, line }) => `${ts} ${stage} ${percent}% ${line}\n`)
        .join('')
      return reply.type('text/plain; charset=utf-8').send(text)
    }
    return sendEventStream(reply, stopping, (signal) => framesOf(build, from, signal))
  })
  server.get('/v1/templates', async ({ caller }): Promise<z.infer<typeof agentTemplateList>> => {
    const own = host.store.templates.all.filter(
      (each) => caller.workspaceId === null || each.workspace_id === caller.workspaceId,
    )
    const unreadable = caller.workspaceId === null ? host.store.ledger.unreadable.idsOf('template') : []
    return { templates: own.map(({ id, workspace_id }) => ({ id, workspace_id })), unreadable }
  })
  /** Idempotent: 204 if the template is already gone. */
  server.delete('/v1/templates/:id', async (request, reply) => {
    const id = idOf(request)
    const { workspaceId } = request.caller
    await host.arrivals.cancel(id, workspaceId, null)
    const template = host.store.templates.find(id, workspaceId)
    if (template !== null) await deleteTemplate(host, template.id)
    else sweepBakesSoon(host)
    return reply.code(204).send()
  })
}

/** In a Fastify scope of its own, in which bodies stay streams instead of being parsed. */
function uploads(server: FastifyInstance, agent: Agent): void {
  const { host, stopping } = agent
  const uploaded = new Map<BuildId, Upload & { readonly timer: NodeJS.Timeout }>()
  void server.register(async (scope) => {
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser('*', (_request, _payload, done) => done(null))
    scope.put('/v1/builds/:id/rootfs', async (request, reply): Promise<z.infer<typeof uploadedRootfs>> => {
      if (stopping.aborted) throw new ApiError('shuttingDown')
      const id = idOf(request)
      const body = UploadBody.of(request, MAX_UPLOAD_BYTES, stopping)
      const folder = await agent.builds.openUpload(id, request.caller.workspaceId)
      try {
        const upload = await takeUpload(body, buildFiles(folder).upload)
        const timer = setTimeout(() => void agent.builds.dropUpload(id), BEGIN_MS).unref()
        uploaded.set(id, { ...upload, timer })
        void reply.code(201)
        return { bytes: upload.bytes }
      } catch (error) {
        await agent.builds.dropUpload(id)
        throw error
      } finally {
        body.close()
      }
    })
  })
  server.post('/v1/builds', async (request, reply): Promise<AgentBuild> => {
    const { workspaceId } = request.caller
    if (workspaceId === null) throw new ApiError('invalidField', { error: 'the credential names no workspace' })
    if (stopping.aborted) throw new ApiError('shuttingDown')
    const { id: text, ...fields } = parseBody(buildOnAgentBody, request.body)
    const id = parse(text)
    const upload = uploaded.get(id)
    if (upload === undefined) throw new ApiError('notFound', { detail: 'nothing was uploaded for this build' })
    await host.store.room.admit('template')
    // A template's bake contains an image of the whole guest memory.
    await admitTemplate(host.store.dir.builds, upload.bytes / 1024 ** 2 + fields.memory_mb)
    const build = await agent.builds.begin(newBuildRecord(id, workspaceId, fields, upload))
    clearTimeout(upload.timer)
    uploaded.delete(id)
    void reply.code(202)
    return showBuild(host.store.templates, build)
  })
}

function queries(server: FastifyInstance, agent: Agent): void {
  const { templates } = agent.host.store
  server.get('/v1/builds', async ({ caller: { workspaceId } }): Promise<AgentBuildList> => {
    const own = agent.builds.all.filter(({ record }) => workspaceId === null || record.workspace_id === workspaceId)
    return { builds: await Promise.all(own.map((build) => showBuild(templates, build))) }
  })
  server.get('/v1/builds/:id', async (request): Promise<AgentBuild> => showBuild(templates, find(agent, request)))
}

const logsQuery = z.object({ follow: queryFlag('follow') })

function parse(text: string): BuildId {
  const id = parseBuildId(text)
  if (id === null) throw new ApiError('notFound')
  return id
}

function idOf({ params }: FastifyRequest): BuildId {
  return parse((params as { id: string }).id)
}

function find(agent: Agent, request: FastifyRequest): Build {
  const build = agent.builds.find(idOf(request), request.caller.workspaceId)
  if (build === null) throw new ApiError('notFound')
  return build
}

async function* framesOf(build: Build, from: number, signal: AbortSignal): AsyncGenerator<string> {
  for await (const lines of build.log.follow(from, signal)) {
    yield lines.map(({ n, line }) => formatFrame({ id: n, event: 'line', data: JSON.stringify(line) })).join('')
  }
  if (signal.aborted) return
  const { status, error } = build.record
  yield formatFrame({ event: 'done', data: JSON.stringify({ status, error }) })
}
