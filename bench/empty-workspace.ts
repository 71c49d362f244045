import type { Offshoot } from '../tests/setup/offshoot.ts'
import { until } from '../tests/setup/until.ts'

/** Children before parents: an app and a database have sandboxes, and a sandbox may use a volume. */
const KINDS = ['apps', 'databases', 'sandboxes', 'snapshots', 'volumes'] as const
const GONE_MS = 60_000

/** Deletes what a failed bench has left on the server, so that the next one measures an idle host. */
export async function emptyWorkspace(offshoot: Offshoot): Promise<void> {
  for (const kind of KINDS) {
    await until(
      `no ${kind}`,
      async () => {
        const { body } = await offshoot.request('GET', `/v1/${kind}`)
        const left = body as { id: string }[]
        await Promise.all(left.map(async ({ id }) => offshoot.request('DELETE', `/v1/${kind}/${id}`)))
        return left.length === 0
      },
      GONE_MS,
    )
  }
}
