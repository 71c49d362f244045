import { ApiError } from '@offshoot/contract/errors'
import { parsePort } from '@offshoot/contract/port'
import { previewUrl } from '@offshoot/contract/preview-address'
import { createdPreviewLink, previewLink, previewLinkBody, previewLinkListQuery } from '@offshoot/contract/preview-link'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { sandboxOf } from '../../../fleet/admitted-sandbox.ts'
import { parseBody } from '../../../platform/http/body.ts'
import type { SandboxesContext } from '../model/sandboxes-context.ts'
import { lockSandbox } from '../ports/port-statements.ts'
import type { LinkSubject } from './link-row.ts'
import { createLink, deleteLink, listLinks } from './links.ts'

const URL = '/v1/sandboxes/:id/ports/:port/links'

/** `POST`, `GET` and `DELETE …/ports/{port}/links`: links that open one port of a private sandbox. */
export function portLinkRoutes(app: FastifyInstance, control: SandboxesContext): void {
  const admission = { credential: 'key-or-jwt', loads: 'sandbox' } as const
  app.post(URL, {
    config: {
      ...admission,
      docs: {
        summary: 'Make a link that opens a port of a private sandbox',
        tag: 'Ports',
        body: previewLinkBody,
        status: 201,
        answer: createdPreviewLink,
        errors: ['invalidField', 'notFound', 'tooManyLinks'],
      },
    },
    handler: async (request, reply) => {
      const { id, workspace_id: workspaceId } = sandboxOf(request)
      const subject = subjectOf(request)
      const made = await createLink(control, {
        subject,
        workspaceId,
        body: parseBody(request, previewLinkBody),
        address: previewUrl(control.config.preview, id, subject.port),
        lock: (on) => lockSandbox(on, id),
      })
      return reply.code(201).header('cache-control', 'no-store').send(made)
    },
  })
  app.get(URL, {
    config: {
      ...admission,
      docs: {
        summary: 'List the links of a port, newest first',
        tag: 'Ports',
        query: previewLinkListQuery,
        status: 200,
        answer: z.array(previewLink),
        errors: ['invalidField', 'notFound'],
      },
    },
    handler: (request, reply) => listLinks(control, request, reply, subjectOf(request)),
  })
  app.delete(`${URL}/:link_id`, {
    config: {
      ...admission,
      docs: {
        summary: 'Revoke a link of a port',
        tag: 'Ports',
        status: 204,
        errors: ['invalidField', 'notFound'],
      },
    },
    handler: async (request, reply) => {
      await deleteLink(control, subjectOf(request), (request.params as { link_id: string }).link_id)
      return reply.code(204).send()
    },
  })
}

/** @throws ApiError 400 */
function subjectOf(request: FastifyRequest): LinkSubject & { readonly port: number } {
  const port = parsePort((request.params as { port: string }).port)
  if (port === null) throw new ApiError('invalidField', { error: 'port must be a number from 1 to 65535' })
  return { sandboxId: sandboxOf(request).id, port, appId: null }
}
