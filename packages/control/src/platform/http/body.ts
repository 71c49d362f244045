import { ApiError } from '@offshoot/contract/errors'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { z } from 'zod'

/** Bytes of a body where a route names no other limit. */
export const BODY_LIMIT_BYTES = 1024 * 1024

/** As much of a media type's form as anybody here looks at. */
const MEDIA_TYPE = /^[^\s/;]+\/[^\s/;]+/

/**
 * Bodies reach handlers as bytes, whatever type they claim: many clients send JSON under none or `text/plain`.
 * Parts and forms are what no route here can read.
 */
export function registerBodyParser(app: FastifyInstance): void {
  // Fastify would refuse, with a 415, what is no media type at all, such as `json`; it says as little as none.
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
 * The body as `schema` says; an empty one reads as `{}`.
 *
 * @throws ApiError 400 with the first refusal's sentence, or `invalid json` for what is no JSON object
 */
export function parseBody<Schema extends z.ZodType>(request: FastifyRequest, schema: Schema): z.output<Schema> {
  const value = readJson(request.body)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new ApiError('invalidJson')
  return parseWith(schema, value)
}

/** @throws ApiError 400 with the first refusal's sentence */
export function parseWith<Schema extends z.ZodType>(schema: Schema, value: unknown): z.output<Schema> {
  const result = schema.safeParse(value)
  if (result.success) return result.data
  throw new ApiError('invalidField', { error: result.error.issues[0]?.message ?? 'invalid request' })
}

/** Leaves out a byte order mark, and fails on bytes that are no UTF-8: a command must not run with others than were sent. */
const utf8 = new TextDecoder('utf-8', { fatal: true })

function readJson(body: unknown): unknown {
  if (!Buffer.isBuffer(body) || body.length === 0) return {}
  try {
    return JSON.parse(utf8.decode(body))
  } catch {
    throw new ApiError('invalidJson')
  }
}
