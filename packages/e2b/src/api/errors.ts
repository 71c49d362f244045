import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import { ControlRefused, ControlUnreachable } from '../control/control-failure.ts'

/** An answer in the form of E2B's errors: `{"code", "message"}`, with the code as the status. */
export class ApiFailure extends Error {
  override readonly name = 'ApiFailure'
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

/** A feature of E2B that Offshoot's gateway does not have. */
export function notImplemented(feature: string): ApiFailure {
  return new ApiFailure(501, `Offshoot's E2B gateway does not support ${feature}`)
}

export function answerFailure(error: FastifyError | Error, request: FastifyRequest, reply: FastifyReply): void {
  const { status, message } = failureOf(error)
  if (status >= 500 && status !== 501) request.log.error({ err: error }, 'request failed')
  if (error instanceof ControlRefused && error.retryAfter !== undefined) reply.header('retry-after', error.retryAfter)
  void reply.code(status).send({ code: status, message })
}

function failureOf(error: FastifyError | Error): { status: number; message: string } {
  if (error instanceof ApiFailure || error instanceof ControlRefused) return error
  if (error instanceof ControlUnreachable) return { status: 503, message: error.message }
  const status = 'statusCode' in error ? (error.statusCode ?? 500) : 500
  return { status, message: status < 500 ? error.message : 'internal error' }
}
