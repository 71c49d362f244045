import { recursiveQuery } from '@offshoot/contract/file'
import { Deadline } from '@offshoot/kit/deadline'
import type { FastifyInstance } from 'fastify'
import type { Agent } from '../../sandbox/agent.ts'
import { withGuest } from '../../sandbox/model/guest-access.ts'
import { parseQuery } from '../request/parse-query.ts'
import { findTarget } from './find-target.ts'

/** Milliseconds for a whole tree. */
const REMOVE_MS = 300_000

/** `DELETE /v1/sandboxes/{id}/fs`. */
export function removeFile(server: FastifyInstance, agent: Agent): void {
  server.delete('/v1/sandboxes/:id/fs', async (request, reply) => {
    const { sandbox, path } = findTarget(agent, request)
    const { recursive } = parseQuery(recursiveQuery, request)
    const deadline = Deadline.after(REMOVE_MS, `removal in ${sandbox.id}`)
    await withGuest(sandbox, ({ files }) => files.remove(path, { recursive, deadline }))
    return reply.code(204).send()
  })
}
