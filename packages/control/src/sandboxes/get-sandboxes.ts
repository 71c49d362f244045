import { sandbox } from '@offshoot/contract/sandbox'
import { DEFAULT_LIST_LIMIT, type SandboxListQuery, sandboxListQuery } from '@offshoot/contract/sandbox-list'
import { ApiError } from '@offshoot/contract/errors'
import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import type { Control } from '../control.ts'
import { callerOf } from '../http/admission.ts'
import { parseWith } from '../http/body.ts'
import { encodeCursor } from '../http/cursor.ts'
import { listSandboxes } from './list-sandboxes-query.ts'
import { presentSandbox } from './sandbox-row.ts'

const METADATA = 'metadata.'

/** `GET /v1/sandboxes`: a page, newest first; the next one in `Link: <…>; rel="next"`. */
export function getSandboxes(app: FastifyInstance, control: Control): void {
  app.get('/v1/sandboxes', {
    config: {
      credential: 'key-or-jwt',
      docs: {
        summary: 'List sandboxes, newest first',
        tag: 'Sandboxes',
        query: sandboxListQuery,
        status: 200,
        answer: z.array(sandbox),
        errors: ['invalidField'],
      },
    },
    handler: async (request, reply) => {
      const parameters = request.query as Record<string, unknown>
      const query = readQuery(parameters)
      if (!isStorable(query)) return []
      const rows = await listSandboxes(control.database.db, callerOf(request).workspaceId, query)
      const page = rows.slice(0, query.limit)
      const last = page.at(-1)
      if (rows.length > page.length && last !== undefined) {
        const next = new URLSearchParams(parameters as Record<string, string>)
        next.set('cursor', encodeCursor(last))
        reply.header('link', `<${control.config.public_url}/v1/sandboxes?${next.toString()}>; rel="next"`)
      }
      return page.map(presentSandbox)
    },
  })
}

function readQuery(parameters: Record<string, unknown>): SandboxListQuery {
  const { template, status, limit = DEFAULT_LIST_LIMIT, cursor } = parseWith(sandboxListQuery, parameters)
  const metadata: Record<string, string> = {}
  for (const [name, value] of Object.entries(parameters)) {
    if (!name.startsWith(METADATA)) continue
    if (typeof value !== 'string') throw new ApiError('invalidField', { error: `${name} must be given once` })
    metadata[name.slice(METADATA.length)] = value
  }
  return { template, status, limit, cursor, metadata }
}

/** PostgreSQL holds no NUL in a text, so a filter with one matches nothing. */
function isStorable({ template = '', metadata }: SandboxListQuery): boolean {
  return [template, ...Object.entries(metadata).flat()].every((text) => !text.includes('\0') && text.isWellFormed())
}
