import { ApiError } from '@offshoot/contract/errors'
import { METHODS } from './method-not-allowed.ts'
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'

/** Refusals that are not ours, by their codes, as ours. */
const REFUSALS: Record<string, () => ApiError> = {
  FST_ERR_CTP_BODY_TOO_LARGE: () => new ApiError('bodyTooLarge'),
  FST_ERR_CTP_INVALID_MEDIA_TYPE: () => new ApiError('unsupportedMediaType'),
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: () => new ApiError('invalidField', { error: 'body is not as long as announced' }),
  // Of QUERY alone, which no route takes.
  FST_ERR_ROUTE_MISSING_CONTENT_TYPE: () => new ApiError('methodNotAllowed'),
  FST_ERR_BAD_URL: () => new ApiError('notFound'),
  FST_ERR_MAX_PARAM_LENGTH: () => new ApiError('notFound'),
  // Of PostgreSQL: disk_full.
  53100: () => new ApiError('databaseFull'),
}

const ROUTED = METHODS.filter((each) => each !== 'TRACE')

/** Every error leaves as the flat JSON body; what we did not mean to answer is a 500 that tells the request id only. */
export function answerError(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const refusal = asApiError(error, request)
  const { status, body } = refusal
  if (status >= 500) request.log.error({ err: error, status }, 'request failed')
  if (status === 401) reply.header('www-authenticate', 'Bearer')
  // What else comes on this connection is the rest of the body, if anything (RFC 9110, 15.5.9).
  if (status === 408) reply.header('connection', 'close')
  // Fastify would close the connection on who is still sending; what comes is read, so that the answer is seen.
  if (status === 413) reply.removeHeader('connection')
  // Of the route, where there is one; methods that no route takes, such as PROPFIND, have none that would refuse them.
  if (status === 405 && !reply.hasHeader('allow')) reply.header('allow', ROUTED.join(', '))
  if (refusal.kind === 'rateLimited') reply.header('retry-after', '1')
  return reply.code(status).send(body)
}

export function registerErrors(app: FastifyInstance): void {
  app.setErrorHandler(answerError)
  app.setNotFoundHandler((request, reply) => {
    const isTaken = METHODS.includes(request.method)
    return answerError(new ApiError(isTaken ? 'notFound' : 'methodNotAllowed'), request, reply)
  })
}

function asApiError(error: unknown, request: FastifyRequest): ApiError {
  if (error instanceof ApiError) return error
  const { code, statusCode } = error as Partial<FastifyError>
  const refusal = code === undefined ? undefined : REFUSALS[code]
  if (refusal !== undefined) return refusal()
  // Whatever else Fastify finds wrong with a request; it has no status of 500 and above but for our own mistakes.
  if (code?.startsWith('FST_') && statusCode !== undefined && statusCode < 500) {
    return new ApiError('invalidField', {}, { cause: error })
  }
  return new ApiError('internal', { detail: `request ${request.id}` }, { cause: error })
}
