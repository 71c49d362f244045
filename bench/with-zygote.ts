import { createDatabase } from '../tests/setup/database.ts'
import { Offshoot } from '../tests/setup/offshoot.ts'
import { hasSpare } from '../tests/setup/spares.ts'
import { until } from '../tests/setup/until.ts'
import { hold } from './cleanup.ts'
import { removeDatabase } from './database-benches.ts'

type Template = 'base' | 'app' | 'postgres-16'

const WITHIN_MS = 60_000
/** After these, the pool makes a zygote (`pool.ts`). */
const CREATES_FOR_ZYGOTE = 3

/** OFFSHOOT_ZYGOTES=off: servers without zygotes, for a comparison. */
const zygotes = process.env['OFFSHOOT_ZYGOTES'] ?? 'on'

/** Starts a server with a warm pool, lets that make a zygote of the template, and removes the server at the end. */
export async function withZygote<T>(
  template: Template,
  use: (offshoot: Offshoot) => Promise<T>,
  settings: Readonly<Record<string, string>> = {},
): Promise<T> {
  const env = { ...settings, OFFSHOOT_POOL_MIB: '512', OFFSHOOT_ZYGOTES: zygotes }
  const offshoot = Offshoot.prepare(`bench-zygote-${template}`, { templates: [template], env })
  const release = hold(async () => offshoot.destroy())
  try {
    await offshoot.up()
    for (let i = 0; i < CREATES_FOR_ZYGOTE; i++) {
      if (template === 'postgres-16') await removeDatabase(offshoot, await createDatabase(offshoot))
      else await offshoot.delete((await offshoot.create({ template })).id)
    }
    await untilCopy(offshoot, template)
    return await use(offshoot)
  } finally {
    await release()
  }
}

/** Waits for a copy of the zygote in the pool; without zygotes, for a restored guest. */
export async function untilCopy(offshoot: Offshoot, template: Template): Promise<void> {
  const kind = zygotes === 'off' ? 'any' : 'copy'
  await until('a guest that waits', async () => hasSpare(offshoot, template, kind), WITHIN_MS)
}
