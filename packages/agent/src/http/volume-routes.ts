import {
  volumeOnAgentBody,
  growOnAgentBody,
  type AgentVolume,
  type AgentVolumeList,
} from '@offshoot/contract/agent-volume'
import { ApiError } from '@offshoot/contract/errors'
import { parseVolumeId, type WorkspaceId } from '@offshoot/contract/ids'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Agent } from '../sandbox/agent.ts'
import { growVolume } from '../sandbox/volumes/grow-volume.ts'
import { copyVolume, makeVolume } from '../sandbox/volumes/make-volume.ts'
import type { VolumeRecord } from '../store/volumes/volume-record.ts'
import type { Volumes } from '../store/volumes/volumes.ts'
import { parseBody } from './request/parse-body.ts'

/** `GET`, `POST /v1/volumes`; `GET`, `PATCH`, `DELETE /v1/volumes/{id}`. Another workspace's volume answers 404. */
export function volumeRoutes(server: FastifyInstance, { host, stopping }: Agent): void {
  const { volumes } = host.store
  server.get('/v1/volumes', async ({ caller: { workspaceId } }): Promise<AgentVolumeList> => {
    const own = volumes.all.filter((record) => workspaceId === null || record.workspace_id === workspaceId)
    // Only the unreadable record names the workspace, so only control may see these ids.
    const unreadable = workspaceId === null ? host.store.ledger.unreadable.idsOf('volume') : []
    return { volumes: await Promise.all(own.map((record) => show(volumes, record))), unreadable }
  })
  server.get('/v1/volumes/:id', async (request): Promise<AgentVolume> => show(volumes, find(volumes, request)))
  server.post('/v1/volumes', async (request, reply): Promise<AgentVolume> => {
    if (stopping.aborted) throw new ApiError('shuttingDown')
    const { from, ...body } = parseBody(volumeOnAgentBody, request.body)
    const record = begin(body, request.caller.workspaceId)
    const source = from === undefined ? null : sourceOf(volumes, from, record)
    const made = await (source === null ? makeVolume(host.store, record) : copyVolume(host, source, record))
    void reply.code(201)
    return show(volumes, made)
  })
  server.patch('/v1/volumes/:id', async (request): Promise<AgentVolume> => {
    const { size_mb } = parseBody(growOnAgentBody, request.body)
    return show(volumes, await growVolume(host, find(volumes, request), size_mb))
  })
  /** Idempotent: 204 if the volume is already gone. */
  server.delete('/v1/volumes/:id', async (request, reply) => {
    const id = parseVolumeId((request.params as { id: string }).id)
    if (id !== null && volumes.find(id, null) !== null) await volumes.delete(find(volumes, request))
    return reply.code(204).send()
  })
}

function find(volumes: Volumes, { params, caller }: FastifyRequest): VolumeRecord {
  const record = volumes.find(parseVolumeId((params as { id: string }).id), caller.workspaceId)
  if (record === null) throw new ApiError('notFound')
  return record
}

function begin(
  { id: text, name, size_mb }: { id: string; name: string; size_mb: number },
  workspaceId: WorkspaceId | null,
): VolumeRecord {
  const id = parseVolumeId(text)
  if (id === null) throw new ApiError('invalidField', { error: 'id must be a lower-case UUID' })
  if (workspaceId === null) throw new ApiError('invalidField', { error: 'the credential names no workspace' })
  const created_at = new Date().toISOString()
  return { id, workspace_id: workspaceId, name, size_mb, is_growing: false, was_attached: false, created_at }
}

/** Finds the volume to copy. If the copy is larger, its file system grows before its first sandbox gets it. */
function sourceOf(volumes: Volumes, from: string, record: VolumeRecord): VolumeRecord {
  const source = volumes.find(parseVolumeId(from), record.workspace_id as WorkspaceId)
  if (source === null) throw new ApiError('notFound', { detail: 'no such volume on this agent' })
  if (record.size_mb < source.size_mb) {
    throw new ApiError('invalidField', { error: `size_mb must be >= ${source.size_mb}, the size of what is copied` })
  }
  record.is_growing = source.is_growing || record.size_mb > source.size_mb
  return source
}

async function show(
  volumes: Volumes,
  { id, workspace_id, name, size_mb, was_attached, created_at }: VolumeRecord,
): Promise<AgentVolume> {
  const used_bytes = await volumes.usedBytes(id)
  return {
    id,
    workspace_id,
    name,
    size_mb,
    used_bytes,
    was_attached,
    attachments: volumes.holders.attachments(id),
    created_at,
  }
}
