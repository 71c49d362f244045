import { ApiError } from '@offshoot/contract/errors'
import type { FastifyRequest } from 'fastify'
import type { Agent } from '../../sandbox/agent.ts'
import { parseQueryPath } from './parse-query-path.ts'
import type { Sandbox } from '../../sandbox/model/sandbox.ts'
import { ownSandbox } from '../request/require-credential.ts'

/** The sandbox and the path that a request names. @throws ApiError 404, 400 */
export function findTarget({ host }: Agent, request: FastifyRequest): { sandbox: Sandbox; path: Buffer } {
  const sandbox = ownSandbox(host.sandboxes, request)
  if (sandbox === null) throw new ApiError('sandboxNotFound')
  return { sandbox, path: parseQueryPath(request.raw.url ?? '') }
}
