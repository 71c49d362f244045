import { template as templateSchema, type Template } from '@offshoot/contract/template'
import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import type { GatewayContext } from '../base/context.ts'
import { findSnapshot, templateOf } from './boot-source.ts'
import { ApiFailure, notImplemented } from './errors.ts'
import { ENVD_VERSION } from './present-sandbox.ts'
import { keyOf } from './request.ts'

const idOf = ({ params }: { params: unknown }) => (params as { id: string }).id

/** Lists of templates, and the deletion of snapshots, which are templates to E2B's clients. Builds are not supported. */
export function templateRoutes(app: FastifyInstance, { control }: GatewayContext): void {
  for (const path of ['/templates', '/v2/templates']) {
    app.get(path, async (request) => {
      const templates = await control.read(z.array(templateSchema), {
        method: 'GET',
        path: '/v1/templates',
        token: keyOf(request),
      })
      return templates.map(presentTemplate)
    })
  }

  app.get('/templates/aliases/:id', async (request) => {
    const name = templateOf(idOf(request))
    const path = `/v1/templates/${encodeURIComponent(name)}`
    const found = await control.read(templateSchema, { method: 'GET', path, token: keyOf(request) })
    return { templateID: found.name, public: found.is_global }
  })

  app.delete('/templates/:id', async (request, reply) => {
    const token = keyOf(request)
    const text = idOf(request)
    const snapshot = await findSnapshot(control, token, text.replace(/:[\w.-]+$/, ''))
    if (snapshot === null) throw new ApiFailure(404, `snapshot ${JSON.stringify(text)} not found`)
    await control.send({ method: 'DELETE', path: `/v1/snapshots/${snapshot.id}`, token })
    return reply.code(204).send()
  })

  for (const [methods, path, feature] of UNSUPPORTED) {
    app.route({
      method: [...methods],
      url: path,
      handler: async (request) => {
        keyOf(request)
        throw notImplemented(feature)
      },
    })
  }
}

const UNSUPPORTED = [
  [['POST'], '/templates', 'template builds'],
  [['POST'], '/v2/templates', 'template builds'],
  [['POST'], '/v3/templates', 'template builds'],
  [['GET', 'POST', 'PATCH'], '/templates/:id', 'template builds'],
  [['PATCH'], '/v2/templates/:id', 'template builds'],
  [['GET'], '/templates/:id/files/:hash', 'template builds'],
  [['POST'], '/templates/:id/builds/:build', 'template builds'],
  [['POST'], '/v2/templates/:id/builds/:build', 'template builds'],
  [['GET'], '/templates/:id/builds/:build/status', 'template builds'],
  [['GET'], '/templates/:id/builds/:build/logs', 'template builds'],
  [['POST', 'DELETE'], '/templates/tags', 'template tags'],
  [['GET'], '/templates/:id/tags', 'template tags'],
  [['GET', 'POST'], '/volumes', 'volumes'],
  [['GET', 'DELETE'], '/volumes/:id', 'volumes'],
  [['GET', 'POST', 'PUT', 'PATCH', 'DELETE'], '/volumecontent/:id/*', 'volumes'],
  [['GET', 'POST'], '/secrets', 'secrets'],
  [['GET', 'POST', 'DELETE'], '/secrets/:id', 'secrets'],
] as const

function presentTemplate({ name, cpu, memory_mb, is_global, created_at, updated_at }: Template) {
  return {
    templateID: name,
    buildID: name,
    buildStatus: 'ready',
    aliases: [name],
    names: [name],
    public: is_global,
    cpuCount: cpu,
    memoryMB: memory_mb,
    diskSizeMB: 0,
    envdVersion: ENVD_VERSION,
    spawnCount: 0,
    buildCount: 1,
    createdAt: created_at,
    updatedAt: updated_at,
    createdBy: null,
    lastSpawnedAt: null,
  }
}
