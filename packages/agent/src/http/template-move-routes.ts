import type { AgentTemplateId } from '@offshoot/contract/agent-build'
import { type AgentTemplateContent, NO_TEMPLATE, templateExportQuery } from '@offshoot/contract/agent-move'
import { ApiError } from '@offshoot/contract/errors'
import { type BuildId, parseBuildId } from '@offshoot/contract/ids'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Agent } from '../sandbox/agent.ts'
import { exportTemplate, templateContent } from '../sandbox/moves/export-template.ts'
import { importTemplate } from '../sandbox/moves/import-template.ts'
import type { TemplateRecord } from '../store/templates/template-record.ts'
import { receiveImport, sendExport, withStreamBodies } from './move-streams.ts'
import { parseQuery } from './request/parse-query.ts'

/**
 * `GET /v1/templates/{id}/content`, `GET …/export` and `PUT …/import`: another host gets the template
 * (docs/internal-api.md).
 */
export function templateMoveRoutes(server: FastifyInstance, { host, images, stopping }: Agent): void {
  const find = (request: FastifyRequest): TemplateRecord => {
    if (stopping.aborted) throw new ApiError('shuttingDown')
    const record = host.store.templates.find(idOf(request), request.caller.workspaceId)
    if (record === null) throw new ApiError('notFound', { detail: NO_TEMPLATE })
    return record
  }
  server.get('/v1/templates/:id/content', async (request): Promise<AgentTemplateContent> => {
    return templateContent(host, find(request))
  })
  server.get('/v1/templates/:id/export', async (request, reply) => {
    const asked = parseQuery(templateExportQuery, request)
    const stream = await exportTemplate(host, find(request), asked)
    return sendExport(reply, stream, stopping, asked.only)
  })
  withStreamBodies(server, (scope) => {
    scope.put('/v1/templates/:id/import', async (request): Promise<AgentTemplateId> => {
      const id = idOf(request)
      const record = await receiveImport(request, stopping, (body, workspaceId) =>
        importTemplate(host, { id, workspaceId, images, stopping }, body),
      )
      return { id: record.id, workspace_id: record.workspace_id }
    })
  })
}

function idOf({ params }: FastifyRequest): BuildId {
  const id = parseBuildId((params as { id: string }).id)
  if (id === null) throw new ApiError('notFound', { detail: NO_TEMPLATE })
  return id
}
