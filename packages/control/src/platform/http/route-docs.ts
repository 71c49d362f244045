import type { ErrorName } from '@offshoot/contract/errors'
import type { z } from 'zod'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** What `/openapi.json` says about the route. Every route under `/v1` must have it. */
    readonly docs?: RouteDocs
    /** The route exists only to answer 405. */
    readonly isRefusal?: boolean
    /** The route serves a file of the console or the documentation, which are no part of the API. */
    readonly isPage?: boolean
  }
}

/** A success response of an operation. */
export interface AnswerDocs {
  readonly status: 101 | 200 | 201 | 202 | 204 | 206
  /** The schema of the body; none for 101 and 204. */
  readonly answer?: z.ZodType
  /** The media type of the body, if it is not JSON. */
  readonly mediaType?: string
}

/** One operation of the API, described by the same schemas that validate it. */
export interface RouteDocs extends AnswerDocs {
  readonly summary: string
  readonly tag: string
  readonly query?: z.ZodObject
  readonly body?: z.ZodType
  /** Media type of a body of raw bytes instead of JSON. The route accepts any other type as well. */
  readonly bodyType?: string
  /** Alternative responses that a caller may ask for, with another status or media type. */
  readonly also?: readonly AnswerDocs[]
  /** The errors of the operation, in addition to those of a bad credential. */
  readonly errors?: readonly ErrorName[]
}

/** An operation without a route of its own. */
export interface DescribedRoute {
  readonly method: 'GET' | 'POST'
  readonly url: string
  readonly docs: RouteDocs
}
