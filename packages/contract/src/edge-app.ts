import { z } from 'zod'

/**
 * What control tells an edge of apps: `GET /internal/apps`, as server-sent events, with the edge's own credential for control.
 * First `event: all` with every app, then `event: app` with one that is another now, or `event: gone` with its id.
 */
export const EDGE_APPS_PATH = '/internal/apps'

export const edgeApp = z.object({
  /** The label of its address. */
  id: z.string(),
  /** The label of its address by name. */
  host: z.string().nullable(),
  /** `none`: no version serves. `building`: nor does one, but the first is being made. */
  state: z.enum(['none', 'building', 'live']),
  /** That the version which serves listens on. */
  port: z.int(),
  /** The sandboxes that serve; none unless `live`. */
  sandbox_ids: z.array(z.string()),
})
export type EdgeApp = z.infer<typeof edgeApp>

export const edgeAppGone = z.object({ id: z.string() })

/** Data of `event: all`. */
export const edgeApps = z.array(edgeApp)
