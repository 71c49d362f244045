import { z } from 'zod'

/**
 * `POST …/{id}/release` of control, for edges: a host refuses a sandbox, or does not answer. Control gives up the stored
 * copy of the sandbox, if one keeps it from waking. 404 if there is no such sandbox; 502 if its host does not answer.
 */
export const releasePath = (id: string): string => `/internal/sandboxes/${id}/release`

/** Where the sandbox is now: the address of its agent. */
export const releasedSandbox = z.object({ agent_url: z.string() })
export type ReleasedSandbox = z.infer<typeof releasedSandbox>
