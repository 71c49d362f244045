import type { ErrorName } from '@offshoot/contract/errors'
import type { z } from 'zod'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** What `/openapi.json` says of the route; a route under `/v1` must have them. */
    readonly docs?: RouteDocs
    /** The route is only there to refuse a method with 405. */
    readonly isRefusal?: boolean
  }
}

/** A success of an operation. */
export interface AnswerDocs {
  readonly status: 101 | 200 | 201 | 202 | 204 | 206
  /** Of the answer's body; none for 101 and 204. */
  readonly answer?: z.ZodType
  /** Of the answer's body where it is no JSON. */
  readonly mediaType?: string
}

/** One operation of the API, described by the schemas that also check it. */
export interface RouteDocs extends AnswerDocs {
  readonly summary: string
  readonly tag: string
  readonly query?: z.ZodObject
  readonly body?: z.ZodType
  /** Media type of a body that is bytes and no JSON; any other is taken as well. */
  readonly bodyType?: string
  /** What a caller may get instead, by asking for it: under another status, or as another media type. */
  readonly also?: readonly AnswerDocs[]
  /** What it refuses beside a bad credential. */
  readonly errors?: readonly ErrorName[]
}

/** An operation that has no route of its own. */
export interface DescribedRoute {
  readonly method: 'GET' | 'POST'
  readonly url: string
  readonly docs: RouteDocs
}
