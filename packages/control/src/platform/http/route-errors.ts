import type { ErrorName } from '@offshoot/contract/errors'
import { isCompute, scopeOf } from '@offshoot/contract/scope'
import type { RouteOptions } from 'fastify'

/**
 * Errors that any route may answer, because control checks for them before routing, or because they do not depend on
 * the route.
 */
export const ERRORS_EVERYWHERE: readonly ErrorName[] = [
  'methodNotAllowed',
  'requestTimeout',
  'unsupportedMediaType',
  'shuttingDown',
  'databaseFull',
  'databaseUnreachable',
  'internal',
]

/** Errors of the agent that control forwards from every agent answer, and errors of the edge at preview addresses. */
export const ERRORS_ELSEWHERE: readonly ErrorName[] = [
  'creditExhausted',
  'leaseEnded',
  'sandboxNotFound',
  'nothingListening',
  'tooManyConnections',
  'previewPrivate',
]

/** All errors that an operation may answer: from admission, from what it shares with its kind, and its own. */
export function errorsOf(route: RouteOptions): readonly ErrorName[] {
  const { docs, loads, idempotent } = route.config ?? {}
  const names: ErrorName[] = [...admissionErrors(route)]
  if (loads !== undefined) names.push('notFound')
  if (docs?.body !== undefined) names.push('invalidJson', 'invalidField')
  if (docs?.query !== undefined) names.push('invalidField')
  if (docs?.body !== undefined || docs?.bodyType !== undefined) names.push('bodyTooLarge')
  if (idempotent !== undefined) {
    names.push('invalidField', 'idempotencyMismatch', 'idempotencyUnfinished', 'idempotencyCancelled')
  }
  return [...new Set([...names, ...(docs?.errors ?? [])])]
}

function admissionErrors({ config = {}, method, url }: RouteOptions): readonly ErrorName[] {
  const { credential, operatorRole, permission, scope = scopeOf(String(method), url) } = config
  if (credential === undefined) return []
  const always: ErrorName[] = ['missingBearerToken', 'invalidApiToken', 'tooManyFailures']
  if (credential === 'operator') return operatorRole === 'viewer' ? always : [...always, 'roleMissing']
  if (credential === 'broker') return [...always, 'rateLimited']
  return [
    ...always,
    'issuerUnreachable',
    'rateLimited',
    'tooManyRequests',
    credential === 'jwt' ? 'jwtRequired' : 'scopeMissing',
    ...(permission === undefined ? [] : ['roleMissing' as const]),
    ...(isCompute(scope, String(method)) ? ['accountSuspended' as const] : []),
  ]
}
