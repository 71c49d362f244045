import type { FastifyInstance } from 'fastify'
import packageJson from '../../package.json' with { type: 'json' }
import type { Control } from '../control.ts'

/** `GET /version`. */
export function getVersion(app: FastifyInstance, { config }: Control): void {
  const answer = { service: 'offshoot', version: packageJson.version, commit: config.commit, api: 'v1' }
  app.get('/version', async () => answer)
}
