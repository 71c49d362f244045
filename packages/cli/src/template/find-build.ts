import type { Offshoot } from '@offshoot/sdk'
import { pick } from '../frame/resolve.ts'

/** The id of the build that `text` names: by its id, the beginning of its id, or a template, whose newest it is. */
export async function findBuild(api: Offshoot, text: string): Promise<string> {
  const [newest] = await api.request('GET /v1/templates/builds', { query: { name: text, limit: 1 } })
  if (newest !== undefined) return newest.id
  const all = await api.list('GET /v1/templates/builds', { query: { limit: 1000 } }).all()
  // The name of a build is that of its template, which several have.
  const ids = all.map(({ id }) => ({ id }))
  return pick('build', 'offshoot template builds', text, ids).id
}
