import { sandbox as sandboxSchema } from '@offshoot/contract/sandbox'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { GatewayContext } from '../base/context.ts'
import { startFrom } from './boot-source.ts'
import {
  connectBody,
  type CreateBody,
  createBody,
  egressOf,
  forkBody,
  pauseBody,
  refreshBody,
  refuseUnsupported,
  timeoutBody,
} from './bodies.ts'
import { ApiFailure, notImplemented } from './errors.ts'
import { DEFAULT_TIMEOUT_SECONDS, OwnSandboxes } from './own-sandboxes.ts'
import { AUTO_RESUME, isShown, presentAccess, presentDetail } from './present-sandbox.ts'
import { keyOf, parse, sandboxIdOf } from './request.ts'

/** Reads, makes, changes and ends single sandboxes. */
export function sandboxRoutes(app: FastifyInstance, context: GatewayContext): void {
  const own = (request: FastifyRequest) => new OwnSandboxes(context.control, keyOf(request))

  for (const path of ['/sandboxes', '/v2/sandboxes']) {
    app.post(path, async (request, reply) => reply.code(201).send(await create(context, request)))
  }

  app.get('/sandboxes/:id', async (request) => {
    const sandbox = await own(request).find(sandboxIdOf(request))
    if (!isShown(sandbox)) throw new ApiFailure(404, `sandbox ${sandbox.id} not found`)
    return presentDetail(context, sandbox)
  })

  app.delete('/sandboxes/:id', async (request, reply) => {
    await own(request).remove(sandboxIdOf(request))
    return reply.code(204).send()
  })

  app.post('/sandboxes/:id/timeout', async (request, reply) => {
    const { timeout } = parse(timeoutBody, request.body)
    await own(request).setTimeout(sandboxIdOf(request), timeout)
    return reply.code(204).send()
  })

  app.post('/sandboxes/:id/refreshes', async (request, reply) => {
    const { duration } = parse(refreshBody, request.body ?? {})
    await own(request).connect(sandboxIdOf(request), duration ?? DEFAULT_TIMEOUT_SECONDS)
    return reply.code(204).send()
  })

  app.post('/sandboxes/:id/pause', async (request, reply) => {
    const { memory } = parse(pauseBody, request.body) ?? {}
    await own(request).pause(sandboxIdOf(request), memory ?? true)
    return reply.code(204).send()
  })

  for (const path of ['/sandboxes/:id/connect', '/v2/sandboxes/:id/connect']) {
    app.post(path, async (request, reply) => {
      const { timeout, memory } = parse(connectBody, request.body ?? {})
      if (memory === false) throw notImplemented('a resume without memory')
      const id = sandboxIdOf(request)
      const { sandbox, wasPaused } = await own(request).connect(id, timeout ?? DEFAULT_TIMEOUT_SECONDS)
      return reply.code(wasPaused ? 201 : 200).send(presentAccess(context, sandbox))
    })
  }

  app.post('/sandboxes/:id/resume', async (request, reply) => {
    const { timeout } = parse(connectBody, request.body ?? {})
    const id = sandboxIdOf(request)
    const { sandbox, wasPaused } = await own(request).connect(id, timeout ?? DEFAULT_TIMEOUT_SECONDS)
    if (!wasPaused) throw new ApiFailure(409, `sandbox ${id} is running`)
    return reply.code(201).send(presentAccess(context, sandbox))
  })

  app.post('/sandboxes/:id/fork', async (request, reply) => {
    const { count, timeout } = parse(forkBody, request.body) ?? {}
    const id = sandboxIdOf(request)
    const results = await own(request).fork(id, count ?? 1, timeout ?? DEFAULT_TIMEOUT_SECONDS)
    const shown = results.map((result) =>
      'error' in result ? { error: { code: 500, message: result.error } } : { sandbox: presentAccess(context, result) },
    )
    return reply.code(201).send(shown)
  })

  app.put('/sandboxes/:id/network', async () => {
    throw notImplemented('changes of network rules')
  })
}

async function create(context: GatewayContext, request: FastifyRequest) {
  const token = keyOf(request)
  const body = parse(createBody, request.body)
  refuseUnsupported(body)
  const settings = {
    ttl_seconds: Math.max(body.timeout ?? DEFAULT_TIMEOUT_SECONDS, 1),
    on_timeout: body.autoPause === true ? 'pause' : 'delete',
    metadata: { ...body.metadata, [AUTO_RESUME]: String(isAutoResumed(body.autoResume)) },
    ...(body.envVars && { env: body.envVars }),
    network: { egress: egressOf(body) },
  }
  const sandbox = await startFrom({ control: context.control, token, text: body.templateID }, (source) =>
    context.control.read(sandboxSchema, {
      method: 'POST',
      path: '/v1/sandboxes',
      token,
      json: { ...source, ...settings },
    }),
  )
  return presentAccess(context, sandbox)
}

/** Both forms: `{enabled}`, and the earlier `{policy}`. */
function isAutoResumed(autoResume: CreateBody['autoResume']): boolean {
  return autoResume?.enabled === true || (autoResume?.policy ?? 'off') === 'any'
}
