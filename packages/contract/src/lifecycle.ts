import { z } from 'zod'
import { flag, optional } from './fields.ts'
import { createSandboxBody, onTimeout } from './sandbox.ts'

const { ttl_seconds, on_timeout, persistent, idle_timeout_seconds } = createSandboxBody.shape

/**
 * Body of `PATCH /v1/sandboxes/{id}/lifecycle`. Absent and `null` fields keep their values. `ttl_seconds` counts from
 * now.
 */
export const lifecyclePatch = z.object({
  ttl_seconds,
  /** Without effect while the sandbox is persistent. */
  on_timeout,
  persistent,
  idle_timeout_seconds,
})
export type LifecyclePatch = z.infer<typeof lifecyclePatch>

/** Body of `POST /v1/sandboxes/{id}/hibernate`. */
export const hibernateBody = z.object({
  /** `false`: only the disk is kept. Processes end, and the next wake boots from the disk. Default: `true`. */
  memory: optional(flag('memory')),
})
export type HibernateBody = Partial<z.infer<typeof hibernateBody>>

/** Answer of `GET` and `PATCH /v1/sandboxes/{id}/lifecycle`: the sandbox's lifetime. */
export const lifecycle = z.object({
  /** Seconds as last set; ignored while persistent. `expires_at` gives the resulting time. */
  ttl_seconds: z.int(),
  persistent: z.boolean(),
  /** Whole seconds since the last activity in the sandbox; 0 during activity, and while the sandbox cannot have any. */
  idle_seconds: z.int(),
  /** Seconds without activity after which a persistent sandbox hibernates. */
  idle_timeout_seconds: z.int(),
  /** RFC 3339, UTC, milliseconds; `null` when persistent, and while a sandbox that pauses is hibernated. */
  expires_at: z.string().nullable(),
  /** What happens at `expires_at`. */
  on_timeout: onTimeout,
})
export type Lifecycle = z.infer<typeof lifecycle>
