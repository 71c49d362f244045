import type { Fork, ForkTree } from '@offshoot/contract/fork'
import { createDatabase } from '../tests/setup/database.ts'
import { Offshoot } from '../tests/setup/offshoot.ts'
import { hasSpare } from '../tests/setup/spares.ts'
import { until } from '../tests/setup/until.ts'
import { hold } from './cleanup.ts'
import { databaseBranch, databaseWake, removeDatabase } from './database-benches.ts'
import { post } from './fork-benches.ts'
import { type Figure, rounds, Samples } from './measure.ts'
import { nodeBurst } from './node-benches.ts'
import { inSandbox, isIdle, privateMib } from './sandbox-benches.ts'

type Figures = Record<string, Figure>
type Template = 'base' | 'postgres-16'

const WITHIN_MS = 60_000
/** After these, the pool makes a zygote (`pool.ts`). */
const CREATES_FOR_ZYGOTE = 3
const TREE_CHILDREN = 16
const TREES = 5

/** A server with a pool, whose template has a zygote, unless OFFSHOOT_ZYGOTES is `off`: for a comparison. */
async function withZygote<T>(template: Template, use: (offshoot: Offshoot) => Promise<T>): Promise<T> {
  const zygotes = process.env['OFFSHOOT_ZYGOTES'] ?? 'on'
  const env = { OFFSHOOT_POOL_MIB: '512', OFFSHOOT_ZYGOTES: zygotes }
  const offshoot = Offshoot.prepare(`bench-continued-${template}`, { templates: [template], env })
  const release = hold(async () => offshoot.destroy())
  try {
    await offshoot.up()
    for (let i = 0; i < CREATES_FOR_ZYGOTE; i++) {
      if (template === 'postgres-16') await removeDatabase(offshoot, await createDatabase(offshoot))
      else await offshoot.delete((await offshoot.create({ template })).id)
    }
    const kind = zygotes === 'off' ? 'any' : 'copy'
    await until('a guest that waits', async () => hasSpare(offshoot, template, kind), WITHIN_MS)
    return await use(offshoot)
  } finally {
    await release()
  }
}

/** A hundred creates with `node -v` at once. */
export async function burstOfCopies(): Promise<Figures> {
  return withZygote('base', async (offshoot) => {
    const { node_v_burst, node_v_burst_wall_ms } = await nodeBurst(offshoot)
    return { node_v_burst_pool: node_v_burst, node_v_burst_pool_wall_ms: node_v_burst_wall_ms }
  })
}

/** Private memory of idle sandboxes from the warm pool, when that has copies of a zygote. */
export async function idleCopies(_others: Offshoot, n = 10): Promise<Figures> {
  const memory = new Samples()
  await withZygote('base', async (offshoot) => {
    for (const _round of rounds(n, 60_000)) {
      await until('a guest that waits', async () => hasSpare(offshoot, 'base', 'copy'), WITHIN_MS)
      await inSandbox(offshoot, async (id, pid) => {
        await until(`${id} idle`, async () => isIdle(offshoot, id), WITHIN_MS)
        memory.add(await privateMib(pid))
      })
    }
  })
  return { memory_private_pool_mib: memory.figure('MiB') }
}

/**
 * Forks and wakes that copies of a zygote continue: each until its answer, and the first command afterwards. Floor of the commands:
 * the same command again.
 */
export async function continuedSandboxes(_others: Offshoot, n = 30): Promise<Figures> {
  const [fork, wake, tree] = [new Samples(), new Samples(), new Samples()]
  const [inFork, inWoken, again] = [new Samples(), new Samples(), new Samples()]
  await withZygote('base', async (offshoot) =>
    inSandbox(offshoot, async (id) => {
      await offshoot.exec(id, 'true')
      for (const _round of rounds(n, 60_000)) {
        const child = await fork.time(async () => post<Fork>(offshoot, `/v1/sandboxes/${id}/fork`, 201))
        if (child) {
          for (const samples of [inFork, again]) await samples.time(async () => offshoot.exec(child.id, 'true'))
          await offshoot.delete(child.id)
        }
        await post(offshoot, `/v1/sandboxes/${id}/hibernate`, 200)
        await wake.time(async () => post(offshoot, `/v1/sandboxes/${id}/wake`, 200))
        await inWoken.time(async () => offshoot.exec(id, 'true'))
      }
      for (const _round of rounds(TREES)) {
        const path = `/v1/sandboxes/${id}/fork-tree`
        const made = await tree.time(async () => post<ForkTree>(offshoot, path, 201, { count: TREE_CHILDREN }))
        await Promise.all((made?.children ?? []).map(async (child) => offshoot.delete(child.id)))
      }
    }),
  )
  return {
    fork_pool: fork.figure('ms'),
    fork_first_exec_pool: inFork.figure('ms', again.p50),
    wake_pool: wake.figure('ms'),
    wake_first_exec_pool: inWoken.figure('ms', again.p50),
    fork_tree_16_pool: tree.figure('ms'),
  }
}

/** Databases that wake, and branches, likewise: until the first row. */
export async function continuedDatabases(): Promise<Figures> {
  return withZygote('postgres-16', async (offshoot) => {
    const { db_wake } = await databaseWake(offshoot)
    const { db_branch, db_branch_parent_pause_ms } = await databaseBranch(offshoot)
    return {
      db_wake_pool: db_wake,
      db_branch_pool: db_branch,
      db_branch_parent_pause_pool_ms: db_branch_parent_pause_ms,
    }
  })
}
