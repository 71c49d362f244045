import { z } from 'zod'

/**
 * `degraded`: it works, but not for everybody or not with all hosts. `unknown`: the control process that answers cannot
 * tell.
 */
export const partStatus = z.enum(['operational', 'degraded', 'down', 'unknown'])
export type PartStatus = z.infer<typeof partStatus>

/** Answer of `GET /v1/status`. */
export const serviceStatus = z.object({
  /** The worst status of a part, without parts that are `unknown`. */
  status: partStatus,
  parts: z.object({
    api: partStatus,
    sandboxes: partStatus,
    databases: partStatus,
    apps: partStatus,
    /** Ports of sandboxes and addresses of apps. Only the process to which an edge is connected knows them. */
    previews: partStatus,
  }),
  /** When the parts were looked at: RFC 3339, UTC, milliseconds. */
  checked_at: z.string(),
})
export type ServiceStatus = z.infer<typeof serviceStatus>
