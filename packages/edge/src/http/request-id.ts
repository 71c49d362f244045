import { randomUUID } from 'node:crypto'
import type { VisitorRequest } from './visitor.ts'

export const REQUEST_ID = 'x-request-id'

/** Printable ASCII, at most 64 characters. */
const USABLE = /^[\x20-\x7e]{1,64}$/

/** The visitor's own id if it is valid, else a new one. Repeated calls for one request return the same id. */
export function requestIdOf({ headers }: Pick<VisitorRequest, 'headers'>): string {
  const given = headers[REQUEST_ID]
  if (typeof given === 'string' && USABLE.test(given)) return given
  return (headers[REQUEST_ID] = randomUUID())
}
