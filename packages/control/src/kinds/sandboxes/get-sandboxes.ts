import { ApiError } from '@offshoot/contract/errors'
import { DEFAULT_LIST_LIMIT } from '@offshoot/contract/page'
import { sandbox } from '@offshoot/contract/sandbox'
import { type SandboxListQuery, sandboxListQuery } from '@offshoot/contract/sandbox-list'
import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import type { SandboxesContext } from './sandboxes-context.ts'
import { callerOf } from '../../platform/http/caller.ts'
import { parseWith } from '../../platform/http/body.ts'
import { pageOf } from '../../platform/http/page-of.ts'
import { listSandboxes } from './list-sandboxes-query.ts'
import { presentSandbox } from '../../fleet/sandbox-row.ts'

const METADATA = 'metadata.'

/** `GET /v1/sandboxes`: a page, newest first. The next page is in `Link: <…>; rel="next"`. */
export function getSandboxes(app: FastifyInstance, control: SandboxesContext): void {
  app.get('/v1/sandboxes', {
    config: {
      credential: 'key-or-jwt',
      docs: {
        summary: 'List sandboxes, newest first; with metadata.KEY=VALUE those that have the tag',
        tag: 'Sandboxes',
        query: sandboxListQuery,
        status: 200,
        answer: z.array(sandbox),
        errors: ['invalidField'],
      },
    },
    handler: async (request, reply) => {
      const query = readQuery(request.query as Record<string, unknown>)
      if (!isStorable(query)) return []
      const rows = await listSandboxes(control.database.db, callerOf(request).workspaceId, query)
      return pageOf(rows, query.limit, control.config.public_url, request, reply).map(presentSandbox)
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

/** PostgreSQL cannot store NUL in a text, so a filter that contains one matches nothing. */
function isStorable({ template = '', metadata }: SandboxListQuery): boolean {
  return [template, ...Object.entries(metadata).flat()].every((text) => !text.includes('\0') && text.isWellFormed())
}
