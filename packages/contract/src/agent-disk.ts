import { z } from 'zod'

/** `low`: an operator should make room. `refusing`: what takes new room is answered 507 until there is more. */
export const diskState = z.enum(['ok', 'low', 'refusing'])
export type DiskState = z.infer<typeof diskState>

/** The file system that has an agent's data directory, and its watermarks. All in bytes. */
export const diskRoom = z.object({
  state: diskState,
  total_bytes: z.int(),
  free_bytes: z.int(),
  /** Below this much free the state is `low`, and below the other `refusing`; 0: never. */
  warn_below_bytes: z.int(),
  refuse_below_bytes: z.int(),
})
export type DiskRoomInfo = z.infer<typeof diskRoom>

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
