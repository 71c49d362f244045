import { z } from 'zod'
import { once, pageQuery } from './page.ts'
import { queryBoolean } from './query-fields.ts'

/** A template as the API shows it. */
export const template = z.object({
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
export type Template = z.infer<typeof template>

/** Query of `GET /v1/templates`. */
export const templateListQuery = pageQuery.extend({
  name: once('name').optional(),
  is_global: queryBoolean('is_global'),
})
