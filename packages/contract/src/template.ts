import { z } from 'zod'

/** A bootable image as the API shows it. */
export const template = z.object({
  name: z.string(),
  /** Path on the agents, below their images folder. */
  rootfs_path: z.string(),
  /** Bytes the image really occupies. */
  size_bytes: z.int(),
  cpu: z.int(),
  memory_mb: z.int(),
  meta: z.record(z.string(), z.unknown()),
  /** Shipped with the service: every workspace sees it, none can delete it. */
  is_global: z.boolean(),
})
export type Template = z.infer<typeof template>
