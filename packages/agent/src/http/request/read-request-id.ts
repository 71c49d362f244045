import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'

const PRINTABLE = /^[\x20-\x7e]{1,64}$/

/** The caller's `X-Request-Id` where it is fit to be written to a log, else a fresh one. */
export function readRequestId({ headers }: Pick<IncomingMessage, 'headers'>): string {
  const given = headers['x-request-id']
  return typeof given === 'string' && PRINTABLE.test(given) ? given : randomUUID()
}
