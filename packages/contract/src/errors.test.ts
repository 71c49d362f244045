import { expect, it } from 'vitest'
import { ApiError } from './errors.ts'

it('an ApiError carries a flat body, its context beside the text', () => {
  const error = new ApiError('insufficientMemory', { detail: 'try again', needed_mib: 512 })
  expect(error.status).toBe(507)
  expect(error.body).toEqual({ error: 'insufficient host memory for sandbox', detail: 'try again', needed_mib: 512 })
  expect(new ApiError('missingBearerToken').body).toEqual({ error: 'unauthorized', detail: 'missing bearer token' })
})
