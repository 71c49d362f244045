import { setTimeout as wait } from 'node:timers/promises'
import { type AgentArchive, feedArchiveBody, pruneArchiveBody, takeArchiveBody } from '@offshoot/contract/agent-archive'
import { ApiError } from '@offshoot/contract/errors'
import type { SandboxId } from '@offshoot/contract/ids'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Agent } from '../sandbox/agent.ts'
import { feedArchive } from '../sandbox/archives/feed-archive.ts'
import { readArchived } from '../sandbox/objects/read-archived.ts'
import { showWaiting } from '../sandbox/objects/upload-archive.ts'
import { takeFiles } from '../sandbox/archives/take-files.ts'
import { runningVm } from '../sandbox/model/guest-access.ts'
import type { HostStore } from '../sandbox/model/host.ts'
import type { Sandbox } from '../sandbox/model/sandbox.ts'
import { archivedFileRoutes } from './archived-file-routes.ts'
import { ownSandbox } from './request/require-credential.ts'
import { parseBody } from './request/parse-body.ts'

const PATH = '/v1/sandboxes/:id/archive'
const status = { config: { isStatus: true } }
/** Milliseconds that a guest has to spool a finished file, and between two polls of its spool. */
const TAKE_MS = 60_000
const POLL_MS = 100

/** `GET /v1/sandboxes/{id}/archive`, `POST …/archive/take`, `prune` and `feed`, and those of its files. */
export function archiveRoutes(server: FastifyInstance, agent: Agent): void {
  const { host, stopping } = agent
  archivedFileRoutes(server, agent)
  const find = (request: FastifyRequest): Sandbox => {
    const sandbox = ownSandbox(host.sandboxes, request)
    if (sandbox === null) throw new ApiError('sandboxNotFound')
    return sandbox
  }
  server.get(PATH, status, async (request): Promise<AgentArchive> => show(host.store, find(request)))
  server.post(`${PATH}/take`, async (request): Promise<AgentArchive> => {
    const sandbox = find(request)
    await untilTaken(host.store, sandbox, parseBody(takeArchiveBody, request.body).name)
    return show(host.store, sandbox)
  })
  server.post(
    `${PATH}/prune`,
    { ...status, config: { ...status.config, isDeletion: true } },
    async (request, reply) => {
      const sandbox = find(request)
      const { before } = parseBody(pruneArchiveBody, request.body)
      const archive = await host.store.archives.of(sandbox)
      const beforeMs = Date.parse(before)
      await host.store.archives.exclusively(sandbox, () => archive.prune(beforeMs))
      await host.store.objects?.archives.files.drop(
        sandbox.id,
        (name, storedAtMs) => storedAtMs >= beforeMs || name.endsWith('.history'),
      )
      return reply.code(204).send()
    },
  )
  server.post(`${PATH}/feed`, async (request, reply) => {
    const sandbox = find(request)
    const { from } = parseBody(feedArchiveBody, request.body)
    const source = host.sandboxes.get(from as SandboxId)
    if (source === undefined || source.workspaceId !== sandbox.workspaceId) throw new ApiError('sandboxNotFound')
    const over = new AbortController()
    reply.raw.once('close', () => over.abort())
    if (request.raw.socket.destroyed) over.abort()
    const signal = AbortSignal.any([over.signal, stopping])
    const archive = await host.store.archives.of(source)
    await feedArchive(sandbox, archive, (name) => readArchived(host.store, source.id, archive, name, signal), signal)
    return reply.code(204).send()
  })
}

async function show(store: HostStore, sandbox: Sandbox): Promise<AgentArchive> {
  const { names, bytes, lastAtMs, gapAtMs } = await store.archives.of(sandbox)
  return {
    files: names.length,
    bytes,
    last_at: timeOf(lastAtMs),
    gap_at: timeOf(gapAtMs),
    error: sandbox.archiveError,
    objects: store.objects && (await showWaiting(store.objects.archives, sandbox.id, await store.archives.of(sandbox))),
  }
}

function timeOf(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString()
}

/** Waits until the archive contains a file. @throws ApiError 409 after {@link TAKE_MS} */
async function untilTaken({ archives: all }: HostStore, sandbox: Sandbox, name: string): Promise<void> {
  const archive = await all.of(sandbox)
  const endsAtMs = performance.now() + TAKE_MS
  while (!archive.has(name)) {
    await runningVm(sandbox)
    await takeFiles(all, sandbox)
    if (archive.has(name)) return
    if (performance.now() > endsAtMs) throw new ApiError('conflict', { detail: `${name} was not archived in time` })
    await wait(POLL_MS)
  }
}
