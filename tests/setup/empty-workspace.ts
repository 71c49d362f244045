import type { Offshoot } from './offshoot.ts'
import { until } from './until.ts'

/** Owners first: apps and databases have sandboxes, and sandboxes use volumes and templates. */
const KINDS = ['apps', 'databases', 'sandboxes', 'snapshots', 'volumes', 'templates'] as const
const GONE_MS = 60_000

interface Listed {
  readonly id?: string
  readonly name: string
  /** Set on templates that are shipped with the service. */
  readonly is_global?: boolean
}

/** Deletes everything on the server, so that its next user finds an idle host. */
export async function emptyWorkspace(offshoot: Offshoot): Promise<void> {
  for (const kind of KINDS) {
    await until(
      `no ${kind}`,
      async () => {
        const { body } = await offshoot.request('GET', `/v1/${kind}`)
        const left = (body as Listed[]).filter((one) => one.is_global !== true)
        await Promise.all(left.map(async ({ id, name }) => offshoot.request('DELETE', `/v1/${kind}/${id ?? name}`)))
        return left.length === 0
      },
      GONE_MS,
    )
  }
}
