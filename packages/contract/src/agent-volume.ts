import { z } from 'zod'
import { MAX_VOLUME_MIB } from './plan.ts'

/** Schemas of the volume routes between control and an agent (docs/internal-api.md). */

/**
 * Ids of objects whose records the agent cannot read. They are missing from the list, but they still exist. Absent from
 * the answers of agents of older versions.
 */
export const unreadableIds = z.array(z.string()).default([])

const sizeMb = z.int().min(1).max(MAX_VOLUME_MIB)

/** A volume to attach. The order of the list is the order of the devices. */
export const agentAttachment = z.object({ id: z.uuid(), read_only: z.boolean() })
export type AgentAttachment = z.infer<typeof agentAttachment>

/**
 * Body of the agent's `POST /v1/volumes` → 201 {@link agentVolume}. Control chooses the id, and inserts the row before
 * it asks.
 */
export const volumeOnAgentBody = z.object({
  id: z.uuid(),
  /** Shown in messages. Control ensures that it is unique in the workspace. */
  name: z.string().min(1).max(64),
  /** MiB. With `from`, at least that volume's size. */
  size_mb: sizeMb,
  /** The volume to copy. 404 if it is unknown or of another workspace. */
  from: z.uuid().optional(),
})
export type VolumeOnAgentBody = z.infer<typeof volumeOnAgentBody>

/** Body of the agent's `PATCH /v1/volumes/{id}` → 200 {@link agentVolume}. 400 if smaller than the current size. */
export const growOnAgentBody = z.object({ size_mb: sizeMb })

/** A volume as its agent reports it. */
export const agentVolume = z.object({
  id: z.string(),
  workspace_id: z.string(),
  name: z.string(),
  size_mb: z.int(),
  /** Bytes that the volume occupies on the agent's disk. */
  used_bytes: z.int(),
  /** True once any sandbox has had the volume. From then on only a DELETE removes it. */
  was_attached: z.boolean(),
  /** The sandboxes that have it attached: one writer, or any number of readers. */
  attachments: z.array(z.object({ sandbox_id: z.string(), read_only: z.boolean() })),
  created_at: z.string(),
})
export type AgentVolume = z.infer<typeof agentVolume>

/** Answer of the agent's `GET /v1/volumes`: the volumes of the credential's workspace, or all without a workspace. */
export const agentVolumeList = z.object({ volumes: z.array(agentVolume), unreadable: unreadableIds })
export type AgentVolumeList = z.infer<typeof agentVolumeList>
