import { afterAll, beforeAll, beforeEach } from 'vitest'
import type { Offshoot } from './offshoot.ts'
import { findRegistries } from './registries.ts'
import { borrow, giveBack } from './server-pool.ts'

interface ServerSource {
  readonly start: () => Promise<Offshoot>
  readonly end: (offshoot: Offshoot) => Promise<void>
}

/**
 * Gives the tests of a `describe` block a server. Skips them with the reason if this machine reaches no registry, from
 * which they install packages.
 *
 * Default: the server that test files share.
 */
export function useServerWithRegistries(
  { start, end }: ServerSource = { start: borrow, end: giveBack },
): () => Offshoot {
  let offshoot: Offshoot | null = null
  /** Why packages cannot be installed here; `null` if they can. */
  let obstacle: string | null = null

  beforeAll(async () => {
    await findRegistries().catch((error: Error) => (obstacle = `this machine reaches no registry: ${error.message}`))
    if (obstacle === null) offshoot = await start()
  })
  afterAll(async () => {
    if (offshoot !== null) await end(offshoot)
  })
  beforeEach(({ skip }) => {
    if (obstacle !== null) skip(obstacle)
  })
  return () => {
    if (offshoot === null) throw new Error('the server has not started')
    return offshoot
  }
}
