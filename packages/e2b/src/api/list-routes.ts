import { snapshot as snapshotSchema, type Snapshot } from '@offshoot/contract/snapshot'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import type { GatewayContext } from '../base/context.ts'
import { shownId } from '../base/sandbox-id.ts'
import { templateOf } from './boot-source.ts'
import { isShown, presentListed, readSandboxes } from './present-sandbox.ts'
import { keyOf, parse, sandboxIdOf } from './request.ts'
import { parseShownId } from '../base/sandbox-id.ts'

const MAX_PAGE = 100
const MAX_SNAPSHOT_NAME_CHARS = 128

const limit = z.coerce.number().int().min(1).max(1000).default(MAX_PAGE)
const states = z
  .union([z.string(), z.array(z.string())])
  .transform((value) => [value].flat().flatMap((text) => text.split(',')))
  .pipe(z.array(z.enum(['running', 'paused'])).min(1))

const sandboxQuery = z.object({
  metadata: z.string().optional(),
  state: states.optional(),
  template: z.string().optional(),
  startedAfter: z.string().optional(),
  order: z.enum(['asc', 'desc']).default('desc'),
  limit,
  nextToken: z.string().optional(),
})

const snapshotQuery = z.object({
  sandboxID: z.string().optional(),
  name: z.string().optional(),
  limit,
  nextToken: z.string().optional(),
})

const STATUSES = { running: ['creating', 'running'], paused: ['paused', 'hibernated'] } as const

/** Lists of sandboxes and snapshots, and snapshots of one sandbox. */
export function listRoutes(app: FastifyInstance, context: GatewayContext): void {
  app.get('/v2/sandboxes', (request, reply) => listSandboxes(context, request, reply, ['running', 'paused']))
  app.get('/sandboxes', (request, reply) => listSandboxes(context, request, reply, ['running']))

  app.get('/snapshots', async (request, reply) => {
    const { sandboxID, name, limit: pageLimit, nextToken } = parse(snapshotQuery, request.query)
    const sandboxId = sandboxID === undefined ? undefined : parseShownId(sandboxID)
    if (sandboxId === null) return []
    const { value, cursor } = await context.control.readPage(z.array(snapshotSchema), {
      method: 'GET',
      path: '/v1/snapshots',
      token: keyOf(request),
      query: { sandbox_id: sandboxId, name: name?.replace(/:[\w.-]+$/, ''), limit: pageLimit, cursor: nextToken },
    })
    if (cursor !== null) reply.header('x-next-token', cursor)
    return value.map(presentSnapshot)
  })

  app.post('/sandboxes/:id/snapshots', async (request, reply) => {
    const { name } = parse(
      z.object({ name: z.string().min(1).max(MAX_SNAPSHOT_NAME_CHARS).nullish() }),
      request.body ?? {},
    )
    const made = await context.control.read(snapshotSchema, {
      method: 'POST',
      path: `/v1/sandboxes/${sandboxIdOf(request)}/snapshots`,
      token: keyOf(request),
      json: name ? { name } : {},
    })
    return reply.code(201).send(presentSnapshot(made))
  })
}

async function listSandboxes(
  { control }: GatewayContext,
  request: FastifyRequest,
  reply: FastifyReply,
  defaultStates: readonly ('running' | 'paused')[],
) {
  const query = parse(sandboxQuery, request.query)
  const { value, cursor } = await control.readPage(readSandboxes, {
    method: 'GET',
    path: '/v1/sandboxes',
    token: keyOf(request),
    query: {
      ...tagsOf(query.metadata),
      status: (query.state ?? defaultStates).flatMap((state) => STATUSES[state]).join(','),
      template: query.template === undefined ? undefined : templateOf(query.template),
      created_after: query.startedAfter,
      order: query.order,
      limit: query.limit,
      cursor: query.nextToken,
    },
  })
  if (cursor !== null) reply.header('x-next-token', cursor)
  return value.filter(isShown).map(presentListed)
}

/** `metadata` is a query string whose keys and values clients have encoded once more. */
function tagsOf(metadata = ''): Record<string, string> {
  const tags = [...new URLSearchParams(metadata)]
  return Object.fromEntries(tags.map(([key, value]) => [`metadata.${decode(key)}`, decode(value)]))
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

function presentSnapshot({ id, name }: Snapshot) {
  return { snapshotID: shownId(id), names: name === null ? [] : [name] }
}
