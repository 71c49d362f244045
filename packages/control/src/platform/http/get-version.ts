import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import packageJson from '../../../package.json' with { type: 'json' }
import type { ControlConfig } from '@offshoot/contract/process-config'

export function getVersion(app: FastifyInstance, { config }: { readonly config: ControlConfig }): void {
  const answer = { service: 'offshoot', version: packageJson.version, commit: config.commit, api: 'v1' }
  const docs = {
    summary: 'Which version runs',
    tag: 'Service',
    status: 200,
    answer: z.record(z.string(), z.string()),
  } as const
  app.get('/version', { config: { docs } }, async () => answer)
}
