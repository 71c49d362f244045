import { z } from 'zod'
import { createdQuery, once } from './page.ts'
import { queryBoolean } from './query-fields.ts'

/** A template as its agent reports it. */
export const agentTemplate = z.object({
  name: z.string(),
  /** Path below the agents' images folder. */
  rootfs_path: z.string(),
  /** Bytes that the image occupies on disk. */
  size_bytes: z.int(),
  cpu: z.int(),
  memory_mb: z.int(),
  meta: z.record(z.string(), z.unknown()),
  /** Shipped with the service: visible to all workspaces, and deletable by none. */
  is_global: z.boolean(),
})
export type AgentTemplate = z.infer<typeof agentTemplate>

/** A template as the API shows it. */
export const template = agentTemplate.extend({
  /** When the workspace first had a template of this name. RFC 3339, UTC, milliseconds. */
  created_at: z.string(),
  /** When a build last replaced it, or an agent first reported another image of it. */
  updated_at: z.string(),
})
export type Template = z.infer<typeof template>

/** Query of `GET /v1/templates`. */
export const templateListQuery = createdQuery.extend({
  name: once('name').optional(),
  is_global: queryBoolean('is_global'),
})
