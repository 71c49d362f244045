import type { ServerResponse } from 'node:http'
import { ControlRefused, ControlUnreachable } from '../control/control-failure.ts'

/** Answers in the form of E2B's errors outside of its services. */
export function answerJson(response: ServerResponse, status: number, body: unknown): void {
  const text = JSON.stringify(body)
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }
  response.writeHead(status, headers).end(text)
}

export function answerError(response: ServerResponse, status: number, message: string): void {
  answerJson(response, status, { code: status, message })
}

/** An error before the first byte of an answer, or else the end of the connection. */
export function answerFailure(response: ServerResponse, error: unknown): void {
  if (response.headersSent) return void response.destroy()
  if (error instanceof HttpFailure) return answerError(response, error.status, error.message)
  if (error instanceof ControlUnreachable) return answerError(response, 503, error.message)
  if (!(error instanceof ControlRefused)) return answerError(response, 500, 'internal error')
  if (error.isUnknownUser) return answerError(response, 401, error.message)
  // A path of the wrong kind is a conflict to us, and an invalid path to E2B's clients.
  answerError(response, error.status === 409 ? 400 : error.status, error.message)
}

export class HttpFailure extends Error {
  override readonly name = 'HttpFailure'
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}
