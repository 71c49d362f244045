import { ApiError } from '@offshoot/contract/errors'
import { fileUserQuery } from '@offshoot/contract/file'
import type { FileAccount } from '@offshoot/guest-link/guest-files'
import type { FastifyRequest } from 'fastify'
import type { Agent } from '../../sandbox/agent.ts'
import { parseQueryPath } from './parse-query-path.ts'
import type { Sandbox } from '../../sandbox/model/sandbox.ts'
import { ownSandbox } from '../request/require-credential.ts'
import { parseQuery } from '../request/parse-query.ts'

export interface FileTarget {
  readonly sandbox: Sandbox
  readonly path: Buffer
  readonly account: FileAccount
}

/** The sandbox, the path and the account that a request names. @throws ApiError 404, 400 */
export function findTarget({ host }: Agent, request: FastifyRequest): FileTarget {
  const sandbox = ownSandbox(host.sandboxes, request)
  if (sandbox === null) throw new ApiError('sandboxNotFound')
  const path = parseQueryPath(request.raw.url ?? '')
  const account = parseQuery(fileUserQuery, request)
  if (account.user !== undefined && account.owner !== undefined) {
    throw new ApiError('invalidField', { error: 'user and owner must not be given together' })
  }
  return { sandbox, path, account }
}
