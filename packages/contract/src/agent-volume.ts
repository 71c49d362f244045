import { z } from 'zod'
import { MAX_VOLUME_MIB } from './plan.ts'

/** What control and an agent say to one another about volumes (ARCHITECTURE.md, "Between control and agent"). */

/**
 * Ids of objects that are on the agent's disk and of which it cannot read the records: they are neither listed nor gone. Absent in
 * the answers of older agents.
 */
export const unreadableIds = z.array(z.string()).default([])

const sizeMb = z.int().min(1).max(MAX_VOLUME_MIB)

/** One that a sandbox is to have; the order of the list is that of its devices. */
export const agentAttachment = z.object({ id: z.uuid(), read_only: z.boolean() })
export type AgentAttachment = z.infer<typeof agentAttachment>

/** Body of the agent's `POST /v1/volumes` → 201 {@link agentVolume}; the id is control's, whose row is there before. */
export const volumeOnAgentBody = z.object({
  id: z.uuid(),
  /** For what people are told; control sees to it that a workspace has it once. */
  name: z.string().min(1).max(64),
  /** MiB; with `from` at least that volume's. */
  size_mb: sizeMb,
  /** The volume that it begins as a copy of. Unknown or of another workspace: 404. */
  from: z.uuid().optional(),
})
export type VolumeOnAgentBody = z.infer<typeof volumeOnAgentBody>

/** Body of the agent's `PATCH /v1/volumes/{id}` → 200 {@link agentVolume}. Smaller than it is: 400. */
export const growOnAgentBody = z.object({ size_mb: sizeMb })

/** A volume as its agent knows it. */
export const agentVolume = z.object({
  id: z.string(),
  workspace_id: z.string(),
  name: z.string(),
  size_mb: z.int(),
  /** Bytes of the agent's disk that it really takes. */
  used_bytes: z.int(),
  /** Some sandbox has had it: from then on only a DELETE removes it. */
  was_attached: z.boolean(),
  /** The sandboxes that have it: one that writes, or any number that read. */
  attachments: z.array(z.object({ sandbox_id: z.string(), read_only: z.boolean() })),
  created_at: z.string(),
})
export type AgentVolume = z.infer<typeof agentVolume>

/** Answer of the agent's `GET /v1/volumes`: of the caller's workspace; of all for control itself. */
export const agentVolumeList = z.object({ volumes: z.array(agentVolume), unreadable: unreadableIds })
export type AgentVolumeList = z.infer<typeof agentVolumeList>
