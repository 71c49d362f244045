import { expect, it } from 'vitest'
import {
  ApiError,
  apiError,
  AuthenticationError,
  BadRequestError,
  ConflictError,
  LimitError,
  NotFoundError,
  OffshootError,
  ServerError,
} from './errors.ts'

const refused = (status: number) =>
  apiError({ status, body: { error: 'no', detail: 'why', max: 3 }, requestId: 'r-1', request: 'GET /v1/x' })

it.each([
  [400, BadRequestError],
  [401, AuthenticationError],
  [402, BadRequestError],
  [403, AuthenticationError],
  [404, NotFoundError],
  [409, ConflictError],
  [413, BadRequestError],
  [429, LimitError],
  [500, ServerError],
  [502, ServerError],
  [507, ServerError],
])('the error of a %i is a %o', (status, Kind) => {
  const error = refused(status)
  expect(error.constructor).toBe(Kind)
  expect(error.name).toBe(Kind.name)
  expect(error).toBeInstanceOf(ApiError)
  expect(error).toBeInstanceOf(OffshootError)
  expect(error).toMatchObject({ status, requestId: 'r-1', request: 'GET /v1/x', body: { max: 3 } })
})

it('the text of an error names the request, the reason and the request id', () => {
  expect(refused(404).message).toBe('GET /v1/x answered 404: no: why (request r-1)')
  // Errors of PostgreSQL have a detail that may be null.
  const body = { error: 'internal error', detail: null }
  const bare = apiError({ status: 500, body, requestId: null, request: 'GET /' })
  expect(bare.message).toBe('GET / answered 500: internal error (request without an id)')
})
