import { port, type Port } from '@offshoot/contract/port'
import { previewUrl } from '@offshoot/contract/preview-address'
import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import type { SandboxesContext } from '../model/sandboxes-context.ts'
import { sandboxOf } from '../../../fleet/admitted-sandbox.ts'
import { listeningPorts } from './listening-ports.ts'
import { portsOfSandbox } from './port-statements.ts'

/** `GET /v1/sandboxes/{id}/ports`: the named ports and the listening ports, ascending. Does not wake the sandbox. */
export function getPorts(app: FastifyInstance, control: SandboxesContext): void {
  app.get('/v1/sandboxes/:id/ports', {
    config: {
      credential: 'key-or-jwt',
      loads: 'sandbox',
      takesSandboxCredential: true,
      docs: {
        summary: 'List the ports of a sandbox: named ones, and those on which something listens',
        tag: 'Ports',
        status: 200,
        answer: z.array(port),
        errors: ['notFound', 'agentUnreachable'],
      },
    },
    handler: async (request): Promise<Port[]> => {
      const row = sandboxOf(request)
      const [named, listening] = await Promise.all([
        portsOfSandbox(control.database.pool, row.id),
        listeningPorts(control, row, request.id),
      ])
      const labels = new Map(named.map(({ port: number, label }) => [number, label]))
      const all = [...new Set([...labels.keys(), ...listening])].toSorted((a, b) => a - b)
      return all.map((number) => ({
        port: number,
        label: labels.get(number) ?? null,
        listening: listening.has(number),
        source: labels.has(number) ? 'user' : 'detected',
        url: previewUrl(control.config.preview, row.id, number),
      }))
    },
  })
}
