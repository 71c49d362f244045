import { z } from 'zod'

const port = z.int().min(1).max(65_535)

export const databaseAddress = z.strictObject({
  host: z.string().min(1),
  port,
  user: z.string().min(1),
  password: z.string().min(1),
  database: z.string().min(1),
  /**
   * A pooler in front of it, which gives out its connections per transaction (PgBouncer). Requests go through it.
   * Notifications, locks and jobs need connections of their own, to `host`.
   */
  pooler: z.strictObject({ host: z.string().min(1), port }).optional(),
})
export type DatabaseAddress = z.infer<typeof databaseAddress>
