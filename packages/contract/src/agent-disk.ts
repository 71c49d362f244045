import { z } from 'zod'

/** Answer of the agent's `GET /v1/disk`. */
export const agentDisk = z.object({
  /** Of the file system that has the agent's data directory. */
  total_bytes: z.int(),
  free_bytes: z.int(),
  /** Frozen templates. */
  bakes_bytes: z.int(),
  /** Frozen layers of sandboxes' disks, each kept while a sandbox or snapshot needs it. */
  layers_bytes: z.int(),
  snapshots_bytes: z.int(),
  /** Their own layers, logs, and the memory of those that are hibernated. */
  sandboxes_bytes: z.int(),
  volumes_bytes: z.int(),
  /** Images of built templates that no bake shares. */
  templates_bytes: z.int(),
  /** Uploads and images of builds that have not ended, and logs. */
  builds_bytes: z.int(),
})
export type AgentDisk = z.infer<typeof agentDisk>

/** Answer of `GET /v1/hosts/{id}/disk`, for operators. */
export const hostDisk = agentDisk.extend({ agent_id: z.string() })
