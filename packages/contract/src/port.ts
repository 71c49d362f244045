import { z } from 'zod'
import { integer, optional, text } from './fields.ts'

export const MIN_PORT = 1
export const MAX_PORT = 65_535
/** Most ports that a user may name in one sandbox. */
export const MAX_NAMED_PORTS = 128

/** `null` for anything that is no decimal number of a TCP port. */
export function parsePort(input: unknown): number | null {
  if (typeof input !== 'string' || !/^[1-9]\d{0,4}$/.test(input)) return null
  const number = Number(input)
  return number <= MAX_PORT ? number : null
}

/** A TCP port of a sandbox, as `GET /v1/sandboxes/{id}/ports` shows it. */
export const port = z.object({
  port: z.int(),
  /** What the user called it; `null` without. */
  label: z.string().nullable(),
  /** Whether something in the sandbox accepts connections on it now; `false` while the sandbox does not run. */
  listening: z.boolean(),
  /** `user`: named by POST. `detected`: nobody named it, and something listens. */
  source: z.enum(['user', 'detected']),
  /** Where a browser reaches it. */
  url: z.string(),
})
export type Port = z.infer<typeof port>

/** Body of `POST /v1/sandboxes/{id}/ports`. */
export const portBody = z.object({
  port: integer('port', MIN_PORT, MAX_PORT),
  label: optional(text('label', 128)),
})
export type PortBody = z.output<typeof portBody>

/** Body of `DELETE /v1/sandboxes/{id}/ports`, unless the port is in the path or the query. */
export const portToRemove = z.object({ port: integer('port', MIN_PORT, MAX_PORT) })
