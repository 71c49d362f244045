import type { ErrorName } from '@offshoot/contract/errors'
import { isCompute, scopeOf } from '@offshoot/contract/scope'
import type { RouteOptions } from 'fastify'

/** What any route may answer, because it is looked at before there is a route, or has nothing to do with it. */
export const ERRORS_EVERYWHERE: readonly ErrorName[] = [
  'methodNotAllowed',
  'requestTimeout',
  'unsupportedMediaType',
  'shuttingDown',
  'databaseFull',
  'internal',
]

/** What an agent says of itself, passed on wherever it answers, and what the edge says at preview addresses. */
export const ERRORS_ELSEWHERE: readonly ErrorName[] = [
  'creditExhausted',
  'sandboxNotFound',
  'nothingListening',
  'tooManyConnections',
]

/** Everything that an operation may be refused with: by admission, by what is common to its kind, and by itself. */
export function errorsOf(route: RouteOptions): readonly ErrorName[] {
  const { docs, loads, idempotent } = route.config ?? {}
  const names: ErrorName[] = [...admissionErrors(route)]
  if (loads !== undefined) names.push('notFound')
  if (docs?.body !== undefined) names.push('invalidJson', 'invalidField')
  if (docs?.query !== undefined) names.push('invalidField')
  if (docs?.body !== undefined || docs?.bodyType !== undefined) names.push('bodyTooLarge')
  if (idempotent !== undefined) names.push('invalidField', 'idempotencyMismatch', 'idempotencyUnfinished')
  return [...new Set([...names, ...(docs?.errors ?? [])])]
}

function admissionErrors({ config = {}, method, url }: RouteOptions): readonly ErrorName[] {
  const { credential, permission, scope = scopeOf(String(method), url) } = config
  if (credential === undefined) return []
  const always: ErrorName[] = ['missingBearerToken', 'invalidApiToken', 'tooManyFailures']
  if (credential === 'operator') return always
  if (credential === 'broker') return [...always, 'rateLimited']
  return [
    ...always,
    'issuerUnreachable',
    'rateLimited',
    credential === 'jwt' ? 'jwtRequired' : 'scopeMissing',
    ...(permission === undefined ? [] : ['roleMissing' as const]),
    ...(isCompute(scope, String(method)) ? ['accountSuspended' as const] : []),
  ]
}
