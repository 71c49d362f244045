import { cpus } from 'node:os'
import { agentClusterBody, type AgentInfo, spentCreditBody } from '@offshoot/contract/agent-api'
import type { AgentDisk } from '@offshoot/contract/agent-disk'
import type { AgentTemplate } from '@offshoot/contract/template'
import type { FastifyInstance } from 'fastify'
import type { Agent } from '../sandbox/agent.ts'
import { stoppedVms } from '../sandbox/lifecycle/lease-watch.ts'
import { readHostMemory } from '../machine/host/host-memory.ts'
import { readDiskUsage } from '../store/data-dir/disk-usage.ts'
import type { TemplateImage } from '@offshoot/contract/template-image'
import { parseBody } from './request/parse-body.ts'
import { requireControl } from './request/require-credential.ts'
import { cpuLimitsOf, describeNetwork } from './get-health.ts'

/** `GET /v1/agent`: what control needs to place a sandbox here. */
export function getAgent(server: FastifyInstance, agent: Agent): void {
  server.get('/v1/agent', async (request): Promise<AgentInfo> => {
    requireControl(request)
    const { totalMib, availableMib } = await readHostMemory()
    const { committedMib, commitLimitMib } = await agent.host.gates.admission.usage()
    return {
      agent_id: agent.id,
      version: agent.version,
      accelerator: agent.accelerator,
      accelerator_reason: agent.acceleratorReason,
      isolation: agent.isolation,
      cpu_limits: cpuLimitsOf(agent.host.platform),
      network: describeNetwork(agent.host.platform),
      qemu_version: agent.host.platform.qemus.current.version,
      cpus: cpus().length,
      memory_mib: { total: totalMib, available: availableMib, committed: committedMib, commit_limit: commitLimitMib },
      disk: await agent.host.store.room.look().catch(() => null),
      templates: await Promise.all(imagesOf(agent).map((image) => describe(agent, image))),
      sandboxes: agent.host.sandboxes.size,
      spares: agent.host.pool.spares.length,
      last_seq: agent.host.store.events.lastSeq,
      cluster_id: agent.host.store.cluster.id,
      lease: agent.host.store.lease.state(stoppedVms(agent.host)),
    }
  })
}

/** `GET /v1/disk`. It stats every file: meant for operators, too slow for polling. */
export function getDisk(server: FastifyInstance, { host }: Agent): void {
  server.get('/v1/disk', async (request): Promise<AgentDisk> => {
    requireControl(request)
    return readDiskUsage(host.store.dir)
  })
}

/** `PUT /v1/agent/cluster`: whose control may delete here from now on. */
export function putCluster(server: FastifyInstance, { host }: Agent): void {
  server.put('/v1/agent/cluster', async (request, reply) => {
    requireControl(request)
    const { cluster_id: id, take_over: takeOver } = parseBody(agentClusterBody, request.body)
    await host.store.cluster.obey(id, takeOver)
    return reply.code(204).send()
  })
}

/** `PUT /v1/agent/spent-credit`: the workspaces that may start nothing because their credit is spent. */
export function putSpentCredit(server: FastifyInstance, { host }: Agent): void {
  server.put('/v1/agent/spent-credit', async (request, reply) => {
    requireControl(request)
    await host.store.credit.replace(parseBody(spentCreditBody, request.body))
    return reply.code(204).send()
  })
}

function imagesOf({ templates, onDemand }: Agent): TemplateImage[] {
  return [...[...templates.values()].map(({ image }) => image), ...(onDemand?.images ?? [])]
}

async function describe({ images, templates }: Agent, image: TemplateImage): Promise<AgentTemplate> {
  const { description, version, disk_mb, packages, start_cmd, ready_cmd } = image
  return {
    name: image.name,
    rootfs_path: `templates/${image.name}/rootfs.ext4`,
    size_bytes: await images.occupiedBytes(image.name),
    cpu: image.cpu,
    memory_mb: image.memory_mb,
    meta: {
      description,
      version,
      disk_mb,
      packages,
      start_cmd,
      ready_cmd,
      image_digest: `sha256:${version}`,
      fingerprint: templates.get(image.name)?.manifest.fingerprint ?? null,
    },
    is_global: true,
  }
}
