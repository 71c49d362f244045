import { z } from 'zod'
import { integer, optional, text } from './fields.ts'

export const MIN_PORT = 1
export const MAX_PORT = 65_535
/** Maximum ports that a user may name in one sandbox. */
export const MAX_NAMED_PORTS = 128

/** Parses a decimal TCP port; `null` if invalid. */
export function parsePort(input: unknown): number | null {
  if (typeof input !== 'string' || !/^[1-9]\d{0,4}$/.test(input)) return null
  const number = Number(input)
  return number <= MAX_PORT ? number : null
}

/** A TCP port of a sandbox, as `GET /v1/sandboxes/{id}/ports` shows it. */
export const port = z.object({
  port: z.int(),
  /** The user's name for it; `null` if there is none. */
  label: z.string().nullable(),
  /** Whether a process in the sandbox accepts connections now; `false` unless the sandbox runs. */
  listening: z.boolean(),
  /** `user`: named by POST. `detected`: not named, but a process listens on it. */
  source: z.enum(['user', 'detected']),
  /** Address for a browser. */
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
