import { createdPreviewLink, previewLink, previewLinkBody, previewLinkListQuery } from '@offshoot/contract/preview-link'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { parseBody } from '../../../platform/http/body.ts'
import type { LinkSubject } from '../../sandboxes/links/link-row.ts'
import { createLink, deleteLink, listLinks } from '../../sandboxes/links/links.ts'
import type { AppsContext } from '../model/apps-context.ts'
import { lockApp } from '../model/deployment-statements.ts'
import { findApp } from '../model/find-app.ts'
import { presentAppOf } from '../model/present-app.ts'

const URL = '/v1/apps/:id/links'

/** `POST`, `GET` and `DELETE /v1/apps/{id}/links`: links that open a private app at each of its addresses. */
export function appLinkRoutes(app: FastifyInstance, control: AppsContext): void {
  app.post(URL, {
    config: {
      credential: 'key-or-jwt',
      docs: {
        summary: 'Make a link that opens a private app',
        tag: 'Apps',
        body: previewLinkBody,
        status: 201,
        answer: createdPreviewLink,
        errors: ['invalidField', 'notFound', 'tooManyLinks'],
      },
    },
    handler: async (request, reply) => {
      const row = await findApp(control, request)
      const made = await createLink(control, {
        subject: { sandboxId: null, port: null, appId: row.id },
        workspaceId: row.workspace_id,
        body: parseBody(request, previewLinkBody),
        address: presentAppOf(control, row).url,
        lock: (on) => lockApp(on, row.id),
      })
      return reply.code(201).header('cache-control', 'no-store').send(made)
    },
  })
  app.get(URL, {
    config: {
      credential: 'key-or-jwt',
      docs: {
        summary: 'List the links of an app, newest first',
        tag: 'Apps',
        query: previewLinkListQuery,
        status: 200,
        answer: z.array(previewLink),
        errors: ['invalidField', 'notFound'],
      },
    },
    handler: async (request, reply) => listLinks(control, request, reply, await subjectOf(control, request)),
  })
  app.delete(`${URL}/:link_id`, {
    config: {
      credential: 'key-or-jwt',
      docs: { summary: 'Revoke a link of an app', tag: 'Apps', status: 204, errors: ['notFound'] },
    },
    handler: async (request, reply) => {
      await deleteLink(control, await subjectOf(control, request), (request.params as { link_id: string }).link_id)
      return reply.code(204).send()
    },
  })
}

async function subjectOf(control: AppsContext, request: FastifyRequest): Promise<LinkSubject> {
  return { sandboxId: null, port: null, appId: (await findApp(control, request)).id }
}
