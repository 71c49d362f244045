import { z } from 'zod'

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
