import {
  type AgentFork,
  type AgentSnapshot,
  type AgentSnapshotList,
  forkOnAgentBody,
  snapshotOnAgentBody,
} from '@offshoot/contract/agent-api'
import { ApiError } from '@offshoot/contract/errors'
import { parseSnapshotId, type SandboxId } from '@offshoot/contract/ids'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Agent } from '../sandbox/agent.ts'
import { forkSandbox } from '../sandbox/snapshots/fork.ts'
import type { Sandbox } from '../sandbox/model/sandbox.ts'
import { sweepLayersSoon } from '../sandbox/cleanup/sweep-layers.ts'
import { takeSnapshot } from '../sandbox/snapshots/take-snapshot.ts'
import { showSnapshot } from '../store/snapshots/snapshot-record.ts'
import { ownSandbox, requireControl } from './request/require-credential.ts'
import { parseBody } from './request/parse-body.ts'

/** `POST /v1/sandboxes/{id}/snapshots` and `fork`; `GET /v1/snapshots`, `DELETE /v1/snapshots/{id}`. */
export function snapshotRoutes(server: FastifyInstance, { host, stopping, sshProbes }: Agent): void {
  const find = (request: FastifyRequest): Sandbox => {
    const sandbox = ownSandbox(host.sandboxes, request)
    if (sandbox === null) throw new ApiError('sandboxNotFound')
    if (stopping.aborted) throw new ApiError('shuttingDown')
    return sandbox
  }
  server.post('/v1/sandboxes/:id/snapshots', async (request, reply): Promise<AgentSnapshot> => {
    const sandbox = find(request)
    const id = parseSnapshotId(parseBody(snapshotOnAgentBody, request.body).id)
    if (id === null) throw new ApiError('invalidField', { error: 'id must be a lower-case UUID' })
    const record = await takeSnapshot(host, sandbox, id)
    void reply.code(201)
    return showSnapshot(record)
  })
  server.post('/v1/sandboxes/:id/fork', async (request, reply): Promise<AgentFork> => {
    const sandbox = find(request)
    const fork = await forkSandbox(host, sandbox, parseBody(forkOnAgentBody, request.body))
    for (const { id } of fork.children) {
      const child = host.sandboxes.get(id as SandboxId)
      if (child) sshProbes.watch(child)
    }
    void reply.code(201)
    return fork
  })
  server.get('/v1/snapshots', async (request): Promise<AgentSnapshotList> => {
    requireControl(request)
    return {
      last_seq: host.store.events.lastSeq,
      snapshots: host.store.snapshots.all.filter(({ origin }) => origin !== 'template').map(showSnapshot),
      unreadable: host.store.ledger.unreadable.idsOf('snapshot'),
    }
  })
  server.delete('/v1/snapshots/:id', async (request, reply) => {
    const id = parseSnapshotId((request.params as { id: string }).id)
    if (id === null) throw new ApiError('notFound')
    const { workspaceId } = request.caller
    await host.arrivals.cancel(id, workspaceId, null)
    const record = await host.store.snapshots.find(id, null)
    if (record !== null && workspaceId !== null && record.workspace_id !== workspaceId) throw new ApiError('notFound')
    if (record !== null) {
      await host.store.objects?.backups.files.end(record.id, 'the backup was deleted')
      await host.store.snapshots.delete(record)
    }
    sweepLayersSoon(host)
    return reply.code(204).send()
  })
}
