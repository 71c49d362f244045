import { ApiError } from '@offshoot/contract/errors'
import type { FastifyRequest } from 'fastify'
import type { z } from 'zod'
import { parseBody } from './parse-body.ts'

/** @throws ApiError 400 naming the first parameter that is wrong */
export function parseQuery<Schema extends z.ZodType>(schema: Schema, { query }: FastifyRequest): z.output<Schema> {
  return parseBody(schema, query)
}

/** The event after which a reconnecting client resumes a stream; `undefined` for a first connection. @throws ApiError 400 */
export function lastEventId({ headers }: FastifyRequest): number | undefined {
  const text = headers['last-event-id']
  if (text === undefined || text === '') return undefined
  if (typeof text !== 'string' || !/^\d{1,15}$/.test(text)) {
    throw new ApiError('invalidField', { error: 'Last-Event-ID must be a number that this stream gave out' })
  }
  return Number(text)
}
