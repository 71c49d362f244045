import { ApiError } from '@offshoot/contract/errors'
import { GuestFileError } from '@offshoot/guest-link/guest-file-error'
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { fileRefusal } from '../../sandbox/files/file-refusal.ts'

/** Sends every error as a flat JSON body. A 500 contains the request id but no internal details. */
export function answerErrors(server: FastifyInstance): void {
  server.setErrorHandler((error: FastifyError | ApiError, request, reply) => answer(translate(error), request, reply))
  server.setNotFoundHandler((request, reply) => answer(new ApiError('notFound'), request, reply))
}

function answer(error: ApiError, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  if (error.status >= 500 && error.status !== 504) {
    request.log.error({ err: error, cause: error.cause, request_id: request.id }, error.message)
  }
  const body = error.status === 500 ? { ...error.body, request_id: request.id } : error.body
  return reply.code(error.status).type('application/json; charset=utf-8').send(body)
}

function translate(error: FastifyError | ApiError): ApiError {
  if (error instanceof ApiError) return error
  if (error instanceof GuestFileError) return fileRefusal(error)
  switch (error.code) {
    case 'FST_ERR_CTP_INVALID_JSON_BODY':
    case 'FST_ERR_CTP_EMPTY_JSON_BODY':
      return new ApiError('invalidJson')
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return new ApiError('bodyTooLarge')
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return new ApiError('unsupportedMediaType')
    default:
      return new ApiError('internal', {}, { cause: error })
  }
}
