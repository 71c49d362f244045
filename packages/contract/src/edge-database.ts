import { z } from 'zod'

/**
 * `GET …/{id}` of control, for edges: what control knows of a database that no host lets the edge in to. 404 if there is
 * no such database.
 */
export const EDGE_DATABASES_PATH = '/internal/databases'

export const edgeDatabase = z.object({
  /** Its host has ended, and control brings it back on another one. `false`: its host is expected to answer again. */
  is_coming_back: z.boolean(),
})
export type EdgeDatabase = z.infer<typeof edgeDatabase>
