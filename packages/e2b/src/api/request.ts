import type { SandboxId } from '@offshoot/contract/ids'
import type { FastifyRequest } from 'fastify'
import type { z } from 'zod'
import { parseShownId } from '../base/sandbox-id.ts'
import { ApiFailure } from './errors.ts'

/** The caller's API key. Control checks it. @throws {ApiFailure} 401 without one */
export function keyOf({ headers }: FastifyRequest): string {
  const key = headers['x-api-key'] ?? /^bearer +(\S+)$/i.exec(headers.authorization ?? '')?.[1]
  if (typeof key !== 'string' || !/^[\x21-\x7e]+$/.test(key)) throw new ApiFailure(401, 'API key is missing')
  return key
}

/** The sandbox that the path names. @throws {ApiFailure} 404 */
export function sandboxIdOf({ params }: FastifyRequest): SandboxId {
  const { id } = params as { id: string }
  const parsed = parseShownId(id)
  if (parsed === null) throw new ApiFailure(404, `sandbox ${JSON.stringify(id)} not found`)
  return parsed
}

/** @throws {ApiFailure} 400 with the name of the field */
export function parse<T>(schema: z.ZodType<T>, input: unknown): T {
  const parsed = schema.safeParse(input)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  throw new ApiFailure(400, `${issue?.path.join('.') || 'request'}: ${issue?.message ?? 'invalid'}`)
}
