import { z } from 'zod'

/** `low`: an operator should free space. `refusing`: the agent answers 507 to requests that need new space. */
export const diskState = z.enum(['ok', 'low', 'refusing'])
export type DiskState = z.infer<typeof diskState>

/** The file system of an agent's data directory, and its watermarks. All sizes in bytes. */
export const diskRoom = z.object({
  state: diskState,
  total_bytes: z.int(),
  free_bytes: z.int(),
  /** The state is `low` or `refusing` while fewer bytes than these are free; 0 disables the watermark. */
  warn_below_bytes: z.int(),
  refuse_below_bytes: z.int(),
})
export type DiskRoomInfo = z.infer<typeof diskRoom>

/** Answer of the agent's `GET /v1/disk`. */
export const agentDisk = z.object({
  /** Size of the file system that holds the agent's data directory. */
  total_bytes: z.int(),
  free_bytes: z.int(),
  /** Baked templates. */
  bakes_bytes: z.int(),
  /** Frozen disk layers of sandboxes. Each is kept while a sandbox or snapshot needs it. */
  layers_bytes: z.int(),
  snapshots_bytes: z.int(),
  /** The sandboxes' own disk layers and logs, and the memory of hibernated ones. */
  sandboxes_bytes: z.int(),
  volumes_bytes: z.int(),
  /** Images of built templates that no bake shares. */
  templates_bytes: z.int(),
  /** Uploads and images of unfinished builds, and build logs. */
  builds_bytes: z.int(),
})
export type AgentDisk = z.infer<typeof agentDisk>

/** Answer of `GET /v1/hosts/{id}/disk`, for operators. */
export const hostDisk = agentDisk.extend({ agent_id: z.string() })
