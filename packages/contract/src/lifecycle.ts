import { z } from 'zod'
import { createSandboxBody } from './sandbox.ts'

/** Body of `PATCH /v1/sandboxes/{id}/lifecycle`; what is absent or `null` stays. `ttl_seconds` counts from now. */
export const lifecyclePatch = createSandboxBody.pick({
  ttl_seconds: true,
  persistent: true,
  idle_timeout_seconds: true,
})
export type LifecyclePatch = z.infer<typeof lifecyclePatch>

/** How long a sandbox lives, as `GET` and `PATCH /v1/sandboxes/{id}/lifecycle` answer it. */
export const lifecycle = z.object({
  /** Seconds as last set, ignored while persistent; what is left of them is in `expires_at`. */
  ttl_seconds: z.int(),
  persistent: z.boolean(),
  /** Whole seconds since anything was last under way in the sandbox; 0 while something is, or nothing can be. */
  idle_seconds: z.int(),
  /** Seconds without activity after which it hibernates, if persistent. */
  idle_timeout_seconds: z.int(),
  /** RFC 3339, UTC, milliseconds; `null` when persistent. */
  expires_at: z.string().nullable(),
})
export type Lifecycle = z.infer<typeof lifecycle>
