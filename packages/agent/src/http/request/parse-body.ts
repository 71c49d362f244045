import { ApiError } from '@offshoot/contract/errors'
import type { z } from 'zod'

/** A missing body counts as `{}`. @throws ApiError 400 naming the first field that is wrong */
export function parseBody<Schema extends z.ZodType>(schema: Schema, body: unknown = {}): z.infer<Schema> {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) throw new ApiError('invalidJson')
  const result = schema.safeParse(body)
  if (result.success) return result.data
  const issue = result.error.issues[0]
  throw new ApiError('invalidField', issue ? { error: issue.message } : {})
}
