import { z } from 'zod'

/** Where a host stores what must outlive its disk: a folder, for instance of a network file system, or an S3 bucket. */
export const objectStore = z.union([
  z.strictObject({ folder: z.string().startsWith('/') }),
  z.strictObject({
    s3: z.strictObject({
      /** Base address of the S3 server, which is asked for `ENDPOINT/BUCKET/PREFIX/NAME`. */
      endpoint: z.url({ protocol: /^https?$/ }),
      region: z.string().min(1).default('us-east-1'),
      bucket: z.string().regex(/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/),
      /** Without a first and a final slash. */
      prefix: z
        .string()
        .regex(/^(?:[A-Za-z0-9_.-]+(?:\/[A-Za-z0-9_.-]+)*)?$/)
        .default(''),
      access_key_id: z.string().min(1),
      secret_access_key: z.string().min(1),
    }),
  }),
])
export type ObjectStoreSettings = z.infer<typeof objectStore>
