import { ApiError } from '@offshoot/contract/errors'
import { type ConsolePage, isConsoleNavigation } from './console.ts'
import { METHODS } from './method-not-allowed.ts'
import { isDatabaseUnreachable } from '../db/database-unreachable.ts'
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'

/** Maps error codes of Fastify and PostgreSQL to API errors. */
const REFUSALS: Record<string, () => ApiError> = {
  FST_ERR_CTP_BODY_TOO_LARGE: () => new ApiError('bodyTooLarge'),
  FST_ERR_CTP_INVALID_MEDIA_TYPE: () => new ApiError('unsupportedMediaType'),
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: () => new ApiError('invalidField', { error: 'body is not as long as announced' }),
  // Only QUERY causes it, and no route takes QUERY.
  FST_ERR_ROUTE_MISSING_CONTENT_TYPE: () => new ApiError('methodNotAllowed'),
  FST_ERR_BAD_URL: () => new ApiError('notFound'),
  FST_ERR_MAX_PARAM_LENGTH: () => new ApiError('notFound'),
  FST_STATIC_FORBIDDEN_PATH: () => new ApiError('notFound'),
  // PostgreSQL: disk_full.
  53100: () => new ApiError('databaseFull'),
}

const ROUTED = METHODS.filter((each) => each !== 'TRACE')

/** Answers every error with the flat JSON body. An unexpected error becomes a 500 that reveals only the request id. */
export function answerError(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const refusal = asApiError(error, request)
  const { status, body } = refusal
  if (status >= 500) request.log.error({ err: error, status }, 'request failed')
  if (status === 401) reply.header('www-authenticate', 'Bearer')
  // The connection may still deliver the rest of the body, which must not be read as a request (RFC 9110, 15.5.9).
  if (status === 408) reply.header('connection', 'close')
  // Fastify would close the connection while the caller is still sending. Control reads the rest instead, so that the
  // caller sees the answer.
  if (status === 413) reply.removeHeader('connection')
  // A route sets `allow` itself. Methods that no route takes, such as PROPFIND, have no route that could refuse them.
  if (status === 405 && !reply.hasHeader('allow')) reply.header('allow', ROUTED.join(', '))
  if (refusal.kind === 'rateLimited') reply.header('retry-after', '1')
  return reply.code(status).send(body)
}

/** @param page answers browsers that open a page of the console; `null`: there is no console */
export function registerErrors(app: FastifyInstance, page: ConsolePage | null): void {
  app.setErrorHandler(answerError)
  app.setNotFoundHandler((request, reply) => {
    if (page !== null && isConsoleNavigation(request)) return page(request, reply)
    const isTaken = METHODS.includes(request.method)
    return answerError(new ApiError(isTaken ? 'notFound' : 'methodNotAllowed'), request, reply)
  })
}

function asApiError(error: unknown, request: FastifyRequest): ApiError {
  if (error instanceof ApiError) return error
  const { code, statusCode } = error as Partial<FastifyError>
  const refusal = code === undefined ? undefined : REFUSALS[code]
  if (refusal !== undefined) return refusal()
  // Any other error that Fastify finds in a request. Fastify uses 500 and above only for mistakes in this code.
  if (code?.startsWith('FST_') && statusCode !== undefined && statusCode < 500) {
    return new ApiError('invalidField', {}, { cause: error })
  }
  if (isDatabaseUnreachable(error)) return new ApiError('databaseUnreachable', {}, { cause: error })
  return new ApiError('internal', { detail: `request ${request.id}` }, { cause: error })
}
