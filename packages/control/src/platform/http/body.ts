import { ApiError } from '@offshoot/contract/errors'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { z } from 'zod'

/** Limit of a body in bytes, unless the route sets another. */
export const BODY_LIMIT_BYTES = 1024 * 1024

/** Matches only the part of a media type that control looks at. */
const MEDIA_TYPE = /^[^\s/;]+\/[^\s/;]+/

/**
 * Passes bodies to handlers as bytes, whatever their type: many clients send JSON as `text/plain` or without a type.
 * Multipart forms are refused here; a route that accepts them has a scope of its own.
 */
export function registerBodyParser(app: FastifyInstance): void {
  // Fastify would answer 415 to a malformed media type such as `json`. Treat it like a missing one.
  app.addHook('onRequest', async ({ headers }) => {
    if (!MEDIA_TYPE.test(headers['content-type'] ?? 'none/none')) delete headers['content-type']
  })
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (request, body, done) => {
    const isForm = /^multipart\//i.test(request.headers['content-type'] ?? '')
    if (isForm) done(new ApiError('unsupportedMediaType', { detail: 'send the body as JSON' }))
    else done(null, body)
  })
}

/**
 * Parses the body with `schema`. An empty body counts as `{}`.
 *
 * @throws ApiError 400 with the text of the first failure, or `invalid json` if the body is no JSON object
 */
export function parseBody<Schema extends z.ZodType>(request: FastifyRequest, schema: Schema): z.output<Schema> {
  const value = readJson(request.body)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new ApiError('invalidJson')
  return parseWith(schema, value)
}

/** @throws ApiError 400 with the text of the first failure */
export function parseWith<Schema extends z.ZodType>(schema: Schema, value: unknown): z.output<Schema> {
  const result = schema.safeParse(value)
  if (result.success) return result.data
  throw new ApiError('invalidField', { error: result.error.issues[0]?.message ?? 'invalid request' })
}

/**
 * Skips a byte order mark, and fails on invalid UTF-8: a command must not run with bytes other than those that were
 * sent.
 */
const utf8 = new TextDecoder('utf-8', { fatal: true })

function readJson(body: unknown): unknown {
  if (!Buffer.isBuffer(body) || body.length === 0) return {}
  try {
    return JSON.parse(utf8.decode(body))
  } catch {
    throw new ApiError('invalidJson')
  }
}
