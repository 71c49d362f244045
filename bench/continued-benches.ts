import type { Fork } from '@offshoot/contract/fork'
import type { Offshoot } from '../tests/setup/offshoot.ts'
import { until } from '../tests/setup/until.ts'
import { appScaleOut, gitHostException } from './app-benches.ts'
import { databaseBranch, databaseWake } from './database-benches.ts'
import { forkApp } from './fork-app-bench.ts'
import { forkTree, post } from './fork-benches.ts'
import { type Figure, rounds, Samples } from './measure.ts'
import { nodeBurst } from './node-benches.ts'
import { inSandbox, isIdle, privateMib } from './sandbox-benches.ts'
import { untilCopy, withZygote } from './with-zygote.ts'

type Figures = Record<string, Figure>

const WITHIN_MS = 60_000

/** A hundred creates with `node -v` at once. */
export async function burstOfCopies(others: Offshoot): Promise<Figures> {
  return withZygote('base', async (offshoot) => {
    const { node_v_burst, node_v_burst_wall_ms } = await nodeBurst(offshoot, others)
    return { node_v_burst_pool: node_v_burst, node_v_burst_pool_wall_ms: node_v_burst_wall_ms }
  })
}

/** Forks of an app that is asked, as {@link forkApp}. */
export async function forkAppByCopies(): Promise<Figures> {
  return withZygote('base', async (offshoot) => {
    const { fork_app_300mib, fork_app_300mib_request } = await forkApp(offshoot)
    return { fork_app_300mib_pool: fork_app_300mib, fork_app_300mib_request_pool: fork_app_300mib_request }
  })
}

/** A load step of an app, as {@link appScaleOut}. */
export async function scaleOutByCopies(): Promise<Figures> {
  const settings = { OFFSHOOT_EGRESS_ALLOW: gitHostException() }
  return withZygote(
    'app',
    async (offshoot) => {
      const { app_scale_out } = await appScaleOut(offshoot)
      return { app_scale_out_pool: app_scale_out }
    },
    settings,
  )
}

/** Private memory of idle sandboxes from the warm pool, when that has copies of a zygote. */
export async function idleCopies(_others: Offshoot, n = 10): Promise<Figures> {
  const memory = new Samples()
  await withZygote('base', async (offshoot) => {
    for (const _round of rounds(n, 60_000)) {
      await untilCopy(offshoot, 'base')
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
  const [fork, wake] = [new Samples(), new Samples()]
  const [inFork, inWoken, again] = [new Samples(), new Samples(), new Samples()]
  const { fork_tree_16 } = await withZygote('base', async (offshoot) => {
    await inSandbox(offshoot, async (id) => {
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
    })
    return forkTree(offshoot)
  })
  return {
    fork_pool: fork.figure('ms'),
    fork_first_exec_pool: inFork.figure('ms', again.p50),
    wake_pool: wake.figure('ms'),
    wake_first_exec_pool: inWoken.figure('ms', again.p50),
    fork_tree_16_pool: fork_tree_16,
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
