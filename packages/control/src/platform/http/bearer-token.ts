import { ApiError } from '@offshoot/contract/errors'
import type { FastifyRequest } from 'fastify'

/** @throws ApiError 401 without `Authorization: Bearer …`, also for another scheme */
export function bearerToken({ headers, query, routeOptions }: FastifyRequest): string {
  const inQuery = routeOptions.config.takesQueryToken === true && headers.authorization === undefined
  const given = inQuery ? (query as { access_token?: unknown }).access_token : undefined
  const token =
    typeof given === 'string' ? /^\S+$/.exec(given)?.[0] : /^bearer +(\S+) *$/i.exec(headers.authorization ?? '')?.[1]
  if (token === undefined) throw new ApiError('missingBearerToken')
  return token
}
