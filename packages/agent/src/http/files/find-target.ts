import { ApiError } from '@offshoot/contract/errors'
import { fileUserQuery } from '@offshoot/contract/file'
import type { FastifyRequest } from 'fastify'
import type { Agent } from '../../sandbox/agent.ts'
import { parseQueryPath } from './parse-query-path.ts'
import type { Sandbox } from '../../sandbox/model/sandbox.ts'
import { ownSandbox } from '../request/require-credential.ts'
import { parseQuery } from '../request/parse-query.ts'

export interface FileTarget {
  readonly sandbox: Sandbox
  readonly path: Buffer
  /** Whose rights apply in the guest. `undefined`: root. */
  readonly user: string | undefined
}

/** The sandbox, the path and the user that a request names. @throws ApiError 404, 400 */
export function findTarget({ host }: Agent, request: FastifyRequest): FileTarget {
  const sandbox = ownSandbox(host.sandboxes, request)
  if (sandbox === null) throw new ApiError('sandboxNotFound')
  const path = parseQueryPath(request.raw.url ?? '')
  return { sandbox, path, user: parseQuery(fileUserQuery, request).user }
}
