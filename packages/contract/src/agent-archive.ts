import { z } from 'zod'

/** Answer of the agent's `GET /v1/sandboxes/{id}/archive`: what was taken from a durable sandbox to be kept. Wakes nothing, and is no activity. */
export const agentArchive = z.object({
  files: z.int(),
  /** On the agent's disk. */
  bytes: z.int(),
  /** RFC 3339: when the last file was taken; `null`: none was. */
  last_at: z.string().nullable(),
  /** RFC 3339: when something was last lost that should have been kept; `null`: nothing is missing. */
  gap_at: z.string().nullable(),
  /** Why nothing could be taken at the last try; `null`: it could. */
  error: z.string().nullable(),
})
export type AgentArchive = z.infer<typeof agentArchive>

/**
 * Body of the agent's `POST /v1/sandboxes/{id}/archive/take` → 200 {@link agentArchive}, once the file of that name has been taken;
 * 409 when that lasts too long. The sandbox is woken.
 */
export const takeArchiveBody = z.object({ name: z.string().max(64) })

/** Body of the agent's `POST /v1/sandboxes/{id}/archive/prune` → 204: what was taken before then goes. */
export const pruneArchiveBody = z.object({ before: z.iso.datetime() })

/**
 * Body of the agent's `POST /v1/sandboxes/{id}/archive/feed`: gives a sandbox that recovers what it asks for, out of the archive of
 * another of its workspace, until the caller hangs up.
 */
export const feedArchiveBody = z.object({ from: z.uuid() })
