import type { AgentDisk } from '@offshoot/contract/agent-disk'
import type { FastifyInstance } from 'fastify'
import type { Agent } from '../sandbox/agent.ts'
import { readDiskUsage } from '../store/data-dir/disk-usage.ts'
import { requireControl } from './request/require-credential.ts'

/** `GET /v1/disk`: looks at every file, so it is for people who ask and for nothing that asks every second. */
export function getDisk(server: FastifyInstance, { host }: Agent): void {
  server.get('/v1/disk', async (request): Promise<AgentDisk> => {
    requireControl(request)
    return readDiskUsage(host.dir)
  })
}
