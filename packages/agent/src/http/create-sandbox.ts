import { createOnAgentBody, type AgentSandbox, type CreateOnAgentBody } from '@offshoot/contract/agent-api'
import type { AgentAttachment } from '@offshoot/contract/agent-volume'
import { ApiError } from '@offshoot/contract/errors'
import { parseSandboxId, parseSnapshotId, parseVolumeId, parseBuildId, type WorkspaceId } from '@offshoot/contract/ids'
import type { FastifyInstance } from 'fastify'
import type { Agent } from '../sandbox/agent.ts'
import { createSandbox } from '../sandbox/lifecycle/create.ts'
import { type Seed, seedOfTemplate, withoutMemory } from '../sandbox/pool/seed.ts'
import { withSnapshot } from '../sandbox/snapshots/with-snapshot.ts'
import type { TemplateRecord } from '../store/templates/template-record.ts'
import type { VolumeRequest } from '../store/volumes/machine-device.ts'
import type { BakedTemplate } from '../machine/bakes/bakes.ts'
import { parseBody } from './request/parse-body.ts'

/**
 * `POST /v1/sandboxes`: answers after the guest has answered. If the caller disconnects, the create continues, and control
 * deletes the sandbox.
 */
export function createSandboxRoute(server: FastifyInstance, agent: Agent): void {
  server.post('/v1/sandboxes', async (request, reply): Promise<AgentSandbox> => {
    const { workspaceId } = request.caller
    if (workspaceId === null) throw new ApiError('invalidField', { error: 'the credential names no workspace' })
    const body = parseBody(createOnAgentBody, request.body)
    const id = parseSandboxId(body.id)
    if (id === null) throw new ApiError('invalidField', { error: 'id must be a lower-case UUID' })
    if (agent.stopping.aborted) throw new ApiError('shuttingDown')
    await agent.host.store.room.admit('sandbox')
    const { persistent, idle_timeout_seconds, egress, visibility, limits = null, env: asked } = body
    const sandbox = await withSeed(agent, body, workspaceId, (seed) => {
      const isCold = body.without_memory || seed.checkpoint?.folder === null
      return createSandbox(agent.host, {
        id,
        workspaceId,
        seed: isCold ? withoutMemory(seed) : seed,
        isCold,
        env: seed.env === 'keep' ? orKept(asked) : { ...seed.env, ...asked },
        settings: { persistent, idle_timeout_seconds, egress, visibility, limits },
        lineage: { parent_id: null, fork_tree_id: null },
        attemptId: body.attempt_id,
        volumes: findVolumes(agent, body.volumes, workspaceId),
      })
    })
    agent.sshProbes.watch(sandbox)
    void reply.code(201)
    return sandbox.show(agent.host.store.events.position(id)?.seq ?? 0)
  })
}

/** Finds what the sandbox is made from, and keeps a snapshot from being deleted until `create` has finished. */
async function withSeed<T>(
  agent: Agent,
  { template, snapshot_id }: Pick<CreateOnAgentBody, 'template' | 'snapshot_id'>,
  workspaceId: WorkspaceId,
  create: (seed: Seed) => Promise<T>,
): Promise<T> {
  if (snapshot_id !== undefined) return withSnapshot(agent.host, parseSnapshotId(snapshot_id), workspaceId, create)
  const record = agent.host.store.templates.find(parseBuildId(template), workspaceId)
  if (record !== null && record.memory !== null) {
    return withSnapshot(agent.host, parseSnapshotId(template), workspaceId, (seed) =>
      create(hideSnapshot(seed, record)),
    )
  }
  const ours = agent.templates.get(template) ?? (await bakeOnDemand(agent, template))
  const baked = ours ?? builtTemplate(agent, template, workspaceId)
  return create(seedOfTemplate(baked))
}

/** Bakes an on-demand template; `null` for every other template. @throws ApiError 500, 507 */
async function bakeOnDemand({ onDemand, host }: Agent, template: string): Promise<BakedTemplate | null> {
  try {
    return (await onDemand?.bake(template)) ?? null
  } catch (error) {
    if (error instanceof ApiError) throw error
    host.log.error({ err: error, template }, 'template cannot be baked')
    throw new ApiError('internal', { error: 'sandbox could not be started' }, { cause: error })
  }
}

/** A template with memory is stored as a snapshot. Callers see the template's name and no snapshot id. */
function hideSnapshot(seed: Seed, { image: { title, name } }: TemplateRecord): Seed {
  return { ...seed, manifest: { ...seed.manifest, template: title ?? name, from_snapshot: null } }
}

/** The variables that the caller asks for; `keep` if it asks for none, so that a restored guest keeps its own. */
function orKept(asked: CreateOnAgentBody['env']): Seed['env'] {
  return Object.keys(asked).length === 0 ? 'keep' : asked
}

function builtTemplate({ host, broken }: Agent, template: string, workspaceId: WorkspaceId): BakedTemplate {
  const record = host.store.templates.find(parseBuildId(template), workspaceId)
  const baked = record === null ? null : host.store.templates.bakedOf(record)
  if (baked !== null) return baked
  if (record !== null) throw new ApiError('internal', { error: 'the template is being prepared for this host anew' })
  if (!broken.has(template)) throw new ApiError('notFound', { detail: `no template ${template} on this agent` })
  throw new ApiError('internal', { error: 'sandbox could not be started' }, { cause: broken.get(template) })
}

function findVolumes({ host }: Agent, asked: readonly AgentAttachment[], workspaceId: WorkspaceId): VolumeRequest[] {
  return asked.map(({ id, read_only: isReadOnly }) => {
    const volume = host.store.volumes.find(parseVolumeId(id), workspaceId)
    if (volume === null) throw new ApiError('notFound', { detail: 'no such volume on this agent' })
    return { volume, isReadOnly }
  })
}
