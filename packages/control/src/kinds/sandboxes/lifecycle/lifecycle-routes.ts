import { lifecycle, lifecyclePatch } from '@offshoot/contract/lifecycle'
import type { FastifyInstance } from 'fastify'
import type { SandboxesContext } from '../model/sandboxes-context.ts'
import { sandboxOf } from '../../../fleet/admitted-sandbox.ts'
import { parseBody } from '../../../platform/http/body.ts'
import { changeLifecycle } from './change-lifecycle.ts'

const URL = '/v1/sandboxes/:id/lifecycle'

/** `GET` and `PATCH /v1/sandboxes/{id}/lifecycle`. Neither wakes a sandbox or counts as activity. */
export function lifecycleRoutes(app: FastifyInstance, control: SandboxesContext): void {
  const shared = { tag: 'Lifecycle', status: 200, answer: lifecycle } as const
  app.get(URL, {
    config: {
      credential: 'key-or-jwt',
      loads: 'sandbox',
      docs: {
        ...shared,
        summary: 'Read how long a sandbox lives, and for how long it has been idle',
        errors: ['notFound', 'sandboxNotRunning', 'agentUnreachable'],
      },
    },
    handler: (request) => changeLifecycle(control, sandboxOf(request), {}, request.id),
  })
  app.patch(URL, {
    config: {
      credential: 'key-or-jwt',
      loads: 'sandbox',
      docs: {
        ...shared,
        summary: 'Change the time to live (counted from now), what happens at its end, persistence or the idle timeout',
        body: lifecyclePatch,
        errors: ['invalidField', 'notFound', 'sandboxNotRunning', 'agentUnreachable'],
      },
    },
    handler: (request) => changeLifecycle(control, sandboxOf(request), parseBody(request, lifecyclePatch), request.id),
  })
}
